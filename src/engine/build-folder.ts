/**
 * Where the addon is and where it is built. A clone has it in build/; so has an installed package, unless another user
 * installed it and its folder cannot be written to: then it is in the user's cache, under a name that changes with the
 * addon's sources, so that another version never loads it.
 */

import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "../files/make-folder.js";

/** The folder of the package: the clone, or what npm installed. */
export const packageRoot = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The user's own folder for an addon of these sources, under `$XDG_CACHE_HOME` or `~/.cache`. */
function cacheFolder(root: string): string {
  const sources = join(root, "native/src");
  const names = existsSync(sources) ? readdirSync(sources).sort() : [];
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(sources, name)));
  const home = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(home, "nudge", "addon", hash.digest("hex").slice(0, 12));
}

function isWritable(folder: string): boolean {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // another user's, or a read-only disk
  }
}

/** The folder to build the addon in, made if it is not there. */
export function folderToBuildIn(root = packageRoot): string {
  const own = join(root, "build");
  return isWritable(own) ? own : cacheFolder(root);
}

/** The folder that has the addon, or where it will be looked for once it is built. */
export function buildFolder(root = packageRoot): string {
  const own = join(root, "build");
  if (existsSync(join(own, "nudge.node"))) return own;
  const cached = cacheFolder(root);
  return existsSync(join(cached, "nudge.node")) ? cached : own;
}
