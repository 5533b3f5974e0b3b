/**
 * Addons that were built ahead, for named versions of libtorch, in an optional package for each platform
 * (scripts/make-engine-packages.mjs makes them). One is taken only where all fits: the sources are those of this version, libtorch has
 * the same version, ABI and CUDA, and the file has the hash that its list names. Otherwise the addon is built here.
 *
 * Where libtorch lies differs from machine to machine, so a prebuilt addon has a long placeholder in the place of the folder in which
 * the loader looks for it, and the real folder is written over it.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { contentHash } from "./kept-builds.mjs";
import { readJson } from "./stamp.mjs";

/** @typedef {import("./engine.mjs").Engine} Engine */
/** @typedef {{ file: string, sha256: string, sources: string, libtorch: string, abi: number, cuda: string | null }} Prebuilt */

/** What a prebuilt addon has where the folder of libtorch belongs. */
export const placeholder = `/nudge-libtorch-folder${"/.".repeat(245)}`;

/** The package for this platform. */
export const packageName = `nudge-dg-engine-${process.platform}-${process.arch}`;

/** The major version of the CUDA that an addon is built with, or null. @param {Pick<Engine, "cuda">} engine */
export const cudaOf = ({ cuda }) => cuda?.version.split(".")[0] ?? null;

/** The prebuilt addon for an engine, why the one that should fit is not taken, or undefined where there is none.
 * @param {Engine} engine @param {string} root @param {string} sources the hash of the addon's sources
 * @returns {{ path: string, name: string } | { problem: string } | undefined} */
export function findPrebuilt(engine, root, sources) {
  let list;
  try {
    list = createRequire(join(root, "package.json")).resolve(`${packageName}/engines.json`);
  } catch {
    return undefined; // it is optional
  }
  /** @type {{ engines: Prebuilt[] } | undefined} */
  const known = readJson(list);
  const { libtorch } = engine;
  const found = known?.engines?.find(
    (each) =>
      each.sources === sources &&
      each.libtorch === libtorch.version &&
      each.abi === libtorch.abi &&
      each.cuda === cudaOf(engine),
  );
  if (!found) return undefined;
  const path = join(dirname(list), found.file);
  if (!existsSync(path)) return { problem: `${packageName} names ${found.file}, which is not in it` };
  if (contentHash(path) !== found.sha256)
    return { problem: `${found.file} of ${packageName} is damaged (another hash than its list names)` };
  return { path, name: `${packageName} (${found.file})` };
}

/** Writes the folder of libtorch over the placeholder. @param {string} addon @param {string} lib */
export function pointAtLibtorch(addon, lib) {
  const bytes = readFileSync(addon);
  const at = bytes.indexOf(placeholder, 0, "latin1");
  const folder = Buffer.from(lib);
  if (at < 0 || folder.length > placeholder.length) return; // then the loader says what it does not find
  bytes.fill(0, at, at + placeholder.length);
  folder.copy(bytes, at);
  writeFileSync(addon, bytes);
}
