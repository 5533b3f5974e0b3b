/**
 * Arranges the content of an archive in the folders of a benchmark: domain/class/picture, with the published name of
 * each domain.
 */
import { readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { FolderBenchmark } from "../data/datasets/folder-benchmark.js";
import { type FoundFolder, findDomainFolders } from "../data/discover.js";
import { listNames, showName } from "../data/show-name.js";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { arrangeCameraTraps, hasCameraTraps } from "./camera-traps.js";

/** Moves the domains below a folder to another folder. Returns a description of what else was there. */
export async function arrange(benchmark: FolderBenchmark, from: string, to: string): Promise<string[]> {
  if (benchmark.id === "terra-incognita" && hasCameraTraps(from)) return arrangeCameraTraps(from, to, benchmark);
  const { domains } = benchmark.published;
  const [[found]] = await findDomainFolders(from, [domains]);
  const missing = domains.filter((_, i) => found?.domains[i] === undefined).map(({ name }) => name);
  if (found === undefined || missing.length > 0) throw notThere(benchmark, missing, found, from);
  makeFolder(to);
  for (const [i, { name }] of domains.entries())
    renameSync(classFoldersIn(join(found.path, found.domains[i]!)), join(to, name));
  return found.others.length > 0 ? [`not used: ${listNames(found.others)}`] : [];
}

function notThere(
  { id, published }: FolderBenchmark,
  missing: readonly string[],
  found: FoundFolder | undefined,
  from: string,
) {
  const names = published.domains.map(({ name }) => name).join(", ");
  const seen = found ? [...found.domains.filter((name) => name !== undefined), ...found.others] : foldersOf(from);
  return new DataError(
    `dataset ${id}: expected folders ${names} in what was unpacked; ${listNames(missing)} ${missing.length === 1 ? "is" : "are"} missing (found ${listNames(seen) || "none"}). ` +
      `Several archives can be given together: --from ONE TWO. What was unpacked is in ${showName(from)}`,
  );
}

const foldersOf = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/**
 * The folder that contains the class folders of a domain: the domain's own, or one below it, such as Office-31's
 * `amazon/images`.
 */
function classFoldersIn(domain: string): string {
  const names = readdirSync(domain).filter((name) => !name.startsWith("."));
  const only = names.length === 1 ? join(domain, names[0]) : undefined;
  if (only === undefined || !statSync(only).isDirectory() || foldersOf(only).length === 0) return domain;
  return classFoldersIn(only);
}
