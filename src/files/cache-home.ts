/** The folder for files that can be recreated. */

import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_CACHE_HOME`, or `~/.cache`. */
export const cacheHome = (): string => process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
