/** The steps between a clone and a running command. Each is run only if it is needed. */
import { join } from "node:path";
import { addonIsCurrent, obtainAddon } from "./addon.mjs";
import { commandIsLinked, linkCommand } from "./command-link.mjs";
import { findEngine, knownEngine } from "./engine.mjs";
import { takeLock } from "./lock.mjs";
import { installPackages, packagesAreCurrent } from "./packages.mjs";
import { buildTypescript, typescriptIsCurrent } from "./typescript.mjs";

/**
 * @typedef {object} Options
 * @property {string} root the clone, or the installed package
 * @property {string} [build] where the addon is built (default: build/ in the root)
 * @property {import("./command.mjs").Environment} [env]
 * @property {string} [sources] the addon's sources
 * @property {string} [searchRoot] the root folder of the system: "/" except in tests
 * @property {boolean} [again] search for the engine again
 */

/** Runs the steps that are needed; returns whether there were any. @param {Options} options */
export async function setup({
  root,
  build = join(root, "build"),
  env = process.env,
  sources = join(root, "native/src"),
  searchRoot = "/",
  again = false,
}) {
  const folders = { root, build, sources };
  const place = { build, env, arch: process.arch, searchRoot };
  const isDone = () => {
    if (!packagesAreCurrent(root) || !commandIsLinked(root) || !typescriptIsCurrent(folders)) return false;
    const engine = knownEngine(place);
    return engine !== undefined && addonIsCurrent(engine, folders);
  };
  if (!again && isDone()) return false;

  const release = await takeLock(join(build, "setup.lock"));
  try {
    // The engine comes first: if there is none, this is known within a second, before anything is downloaded.
    const engine = (!again && knownEngine(place)) || (await findEngine(place));
    if (!packagesAreCurrent(root)) await installPackages(root, env);
    if (!commandIsLinked(root)) linkCommand(root);
    if (!addonIsCurrent(engine, folders)) await obtainAddon(engine, folders, env);
    if (!typescriptIsCurrent(folders)) await buildTypescript(folders);
  } finally {
    release();
  }
  return true;
}
