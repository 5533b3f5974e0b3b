/**
 * Finds a dataset in a folder by the names of its domain folders: in the given folder or a few levels below it,
 * whatever its name (`PACS/`, `kfold/`, `Homework3-PACS/PACS/`, `office_home/`). Case, spaces and underscores are
 * ignored: `Real World`, `RealWorld` and `real_world` are the same name.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DataError } from "../errors.js";
import { byCodePoint } from "./code-point-order.js";
import { showName } from "./show-name.js";

/** The number of levels that are searched. */
const levels = 3;
/** The maximum number of folders that are listed in a search. */
const mostFolders = 20_000;

/** A name in normalized spelling. */
export const plainName = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");

/** A domain to find: its name and other spellings. */
export interface DomainToFind {
  readonly name: string;
  readonly aliases?: readonly string[];
}

/** A folder that contains some of the domains. */
export interface FoundFolder {
  readonly path: string;
  /** The folder of each domain by its real name; undefined if it is missing. */
  readonly domains: readonly (string | undefined)[];
  /** The other folders in it. */
  readonly others: readonly string[];
}

/** The domains that are among the folders of a folder. */
function match(path: string, folders: readonly string[], wanted: readonly DomainToFind[]): FoundFolder {
  const byPlainName = new Map(folders.toReversed().map((name) => [plainName(name), name])); // of two spellings, the first
  const domains = wanted.map(({ name, aliases = [] }) =>
    [name, ...aliases].map((each) => byPlainName.get(plainName(each))).find((found) => found !== undefined),
  );
  return { path, domains, others: folders.filter((name) => !domains.includes(name)) };
}

const countMatches = ({ domains }: FoundFolder): number => domains.filter((name) => name !== undefined).length;

/** The folders in a folder, sorted. If it cannot be read, the result is empty, or an error if it must exist. */
export async function foldersIn(path: string, mustExist = true): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith("."))
      .map(({ name }) => name)
      .sort(byCodePoint);
  } catch (cause) {
    if (!mustExist) return []; // also the result for a link to a file
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such folder" : code === "ENOTDIR" ? "this is not a folder" : message;
    throw new DataError(`looking for a dataset in ${showName(path)}: ${why}`, { cause });
  }
}

/** The nearest folder, up to two levels below another, that has these entries; undefined if there is none. */
export async function findFolderWith(root: string, names: readonly string[]): Promise<string | undefined> {
  let level = [root];
  for (let depth = 0; depth <= 2; depth++) {
    const next: string[] = [];
    for (const path of level) {
      if (names.every((name) => existsSync(join(path, name)))) return path;
      next.push(...(await foldersIn(path, depth === 0)).map((name) => join(path, name)));
    }
    level = next.slice(0, mostFolders);
  }
  return undefined;
}

/**
 * For each dataset, the folders nearest to `root` that have the most of its domains, best first. Levels are searched
 * until one has all domains of a dataset. Folders with fewer than two of the domains are ignored.
 */
export async function findDomainFolders(
  root: string,
  wanted: readonly (readonly DomainToFind[])[],
): Promise<FoundFolder[][]> {
  const found: FoundFolder[][] = wanted.map(() => []);
  let level = [root];
  let looked = 0;
  for (let depth = 0; depth <= levels && level.length > 0; depth++) {
    const next: string[] = [];
    let complete = false;
    for (const path of level) {
      if (looked++ >= mostFolders) return sorted(found);
      const folders = await foldersIn(path, depth === 0);
      for (const [i, domains] of wanted.entries()) {
        const candidate = match(path, folders, domains);
        if (countMatches(candidate) < Math.min(2, domains.length)) continue;
        found[i].push(candidate);
        complete ||= countMatches(candidate) === domains.length;
      }
      next.push(...folders.map((name) => join(path, name)));
    }
    if (complete) break;
    level = next;
  }
  return sorted(found);
}

/** The most domains first; then the nearest. */
const sorted = (found: FoundFolder[][]): FoundFolder[][] =>
  found.map((candidates) => candidates.sort((a, b) => countMatches(b) - countMatches(a)));
