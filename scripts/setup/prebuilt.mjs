/**
 * Prebuilt addons for certain versions of libtorch, in an optional package per platform (created by
 * scripts/make-engine-packages.mjs). One is used only if everything fits: the sources are those of this version,
 * libtorch has the same version, ABI and CUDA, and the file has the listed hash. Otherwise the addon is built here.
 *
 * The folder of libtorch differs between machines, so a prebuilt addon has a long placeholder instead of the folder in
 * which the loader searches for it, and the real folder is written over it.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { contentHash } from "./kept-builds.mjs";
import { readJson } from "./stamp.mjs";

/** @typedef {import("./engine.mjs").Engine} Engine */
/** @typedef {{ file: string, sha256: string, sources: string, libtorch: string, abi: number, cuda: string | null }} Prebuilt */

/** The placeholder for the folder of libtorch in a prebuilt addon. */
export const placeholder = `/nudge-libtorch-folder${"/.".repeat(245)}`;

/** The package for this platform. */
export const packageName = `nudge-dg-engine-${process.platform}-${process.arch}`;

/** The major version of CUDA that an addon is built with, or null. @param {Pick<Engine, "cuda">} engine */
export const cudaOf = ({ cuda }) => cuda?.version.split(".")[0] ?? null;

/** The prebuilt addon for an engine, or why the listed one is not used; undefined if there is none.
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
  if (at < 0 || folder.length > placeholder.length) return; // the loader then reports what it does not find
  bytes.fill(0, at, at + placeholder.length);
  folder.copy(bytes, at);
  writeFileSync(addon, bytes);
}
