/**
 * Builds of the addon that are kept for all clones and projects of a user, under `$XDG_CACHE_HOME/nudge/engine` or
 * `~/.cache/nudge/engine`: one folder each, named by the hash of everything the build depends on (sources, libtorch,
 * compiler, flags), with the addon and its SHA-256. A second project copies the addon instead of compiling it for
 * minutes. `NUDGE_ENGINE_CACHE` sets another folder; `NUDGE_ENGINE_CACHE=0` keeps nothing.
 */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { takeLock } from "./lock.mjs";
import { say } from "./report.mjs";
import { readJson, writeJson } from "./stamp.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */

/** The number of builds that are kept, the last used ones. One takes less than a megabyte. */
const kept = 24;

/** The folder of all builds; null if no builds are kept. @param {Environment} env */
export function keptBuildsFolder(env) {
  if (env.NUDGE_ENGINE_CACHE === "0") return null;
  return env.NUDGE_ENGINE_CACHE || join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "nudge", "engine");
}

/** The SHA-256 of a file's content. @param {string} path */
export const contentHash = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** Copies a file under a temporary name and renames it, so that a process that uses the old file keeps it. @param {string} from @param {string} to */
export function copyInPlace(from, to) {
  const beside = `${to}.${process.pid}`;
  copyFileSync(from, beside);
  renameSync(beside, to);
}

/** Copies a kept build to its destination; returns false if there is none. A build with a wrong hash is removed.
 * @param {string} folder of this build @param {string} target */
function takeKept(folder, target) {
  const addon = join(folder, "nudge.node");
  const record = readJson(join(folder, "build.json"));
  if (!existsSync(folder)) return false;
  if (!existsSync(addon) || record?.sha256 !== contentHash(addon)) {
    say(`the build kept in ${folder} is damaged: it is removed, and built again`);
    rmSync(folder, { recursive: true, force: true });
    return false;
  }
  copyInPlace(addon, target);
  const now = new Date();
  utimesSync(folder, now, now); // marks it as last used; see `prune`
  return true;
}

/** @param {string} folder of this build @param {string} addon */
function keep(folder, addon) {
  const beside = `${folder}.${process.pid}.new`;
  mkdirSync(beside, { recursive: true });
  copyFileSync(addon, join(beside, "nudge.node"));
  writeJson(join(beside, "build.json"), { sha256: contentHash(addon) });
  rmSync(folder, { recursive: true, force: true });
  renameSync(beside, folder);
}

/** Removes the least recently used builds. @param {string} all */
function prune(all) {
  const builds = readdirSync(all)
    .filter((name) => /^[0-9a-f]{32}$/.test(name))
    .map((name) => ({
      path: join(all, name),
      used: statSync(join(all, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }))
    .sort((a, b) => b.used - a.used);
  for (const { path } of builds.slice(kept)) rmSync(path, { recursive: true, force: true });
}

/**
 * Uses the kept build with this hash, or builds it and keeps the result. Two simultaneous setups that need the same one build it once. If
 * the folder is not writable, the result is not kept. Returns whether a kept build was used.
 * @param {string} hash @param {string} target where the addon belongs
 * @param {{ env: Environment, build: () => Promise<void> }} options `build` puts the addon at the target
 */
export async function takeOrBuild(hash, target, { env, build }) {
  const all = keptBuildsFolder(env);
  let release;
  try {
    if (all) release = await takeLock(join(all, `${hash.slice(0, 32)}.lock`));
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    say(`note: the build is not kept for other projects: ${error.message}`);
  }
  if (!all || !release) {
    await build();
    return false;
  }
  const folder = join(all, hash.slice(0, 32));
  try {
    if (takeKept(folder, target)) return true;
    await build();
    keep(folder, target);
    prune(all);
    return false;
  } finally {
    release();
  }
}
