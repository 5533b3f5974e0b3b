/** Where a dataset's cache of decoded pictures is, unless told. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { shortHash } from "../files/canonical-json.js";
import type { CacheSettings } from "./cache-index.js";

/** The folder for what can be made again: `$XDG_CACHE_HOME`, or `~/.cache`. */
export const cacheHome = (): string => process.env.XDG_CACHE_HOME || join(homedir(), ".cache");

/** The cache folder of these pictures: another root or another size, another folder. */
export function cacheFolderFor(settings: CacheSettings): string {
  let root = resolve(settings.root);
  try {
    root = realpathSync(root);
  } catch {
    // Not there: whoever reads from it will say so.
  }
  const name = basename(root).replace(/[^\w.-]+/g, "_") || "root";
  return join(cacheHome(), "nudge", "pictures", `${name}-${shortHash({ ...settings, root })}`);
}
