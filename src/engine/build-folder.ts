/**
 * The location of the addon. A clone has it in build/. So does an installed package, unless another user installed it
 * and its folder is not writable. In that case the addon is in the user's cache, under a name that depends on the
 * addon's sources, so that a different version never loads it.
 */

import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "../files/make-folder.js";

/** The folder of the package: the clone, or the folder that npm installed. */
export const packageRoot = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** Returns the user's folder for an addon built from these sources, in `$XDG_CACHE_HOME` or `~/.cache`. */
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
    return false; // it belongs to another user, or the disk is read-only
  }
}

/** Returns the folder to build the addon in, and creates it if it is missing. */
export function folderToBuildIn(root = packageRoot): string {
  const own = join(root, "build");
  return isWritable(own) ? own : cacheFolder(root);
}

/** Returns the folder that contains the addon, or that will contain it after the build. */
export function buildFolder(root = packageRoot): string {
  const own = join(root, "build");
  if (existsSync(join(own, "nudge.node"))) return own;
  const cached = cacheFolder(root);
  return existsSync(join(cached, "nudge.node")) ? cached : own;
}
