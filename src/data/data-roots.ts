/**
 * The folders of pictures that this user has trained on, in a file in the user's cache. Settings of a run can come from
 * anybody and name any folder, but this list contains only folders that the user named. The dashboard shows pictures
 * from these folders only.
 */

import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheHome } from "../files/cache-home.js";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";

/** The maximum number of entries. The oldest are removed. */
const MOST = 500;

const listFile = (): string => join(cacheHome(), "nudge", "data-roots.json");

/** The folders as real paths; empty if the list cannot be read or another user has written it. */
export function rememberedDataRoots(): string[] {
  try {
    const path = listFile();
    if (process.getuid && statSync(path).uid !== process.getuid()) return [];
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(value) ? value.filter((root) => typeof root === "string" && root.startsWith("/")) : [];
  } catch {
    return [];
  }
}

/** Adds a folder. If the list cannot be written, it stays unchanged, and the run continues. */
export function rememberDataRoot(root: string): void {
  try {
    const real = realpathSync(root);
    const known = rememberedDataRoots();
    if (known.includes(real)) return;
    const kept = [...known.filter((each) => statSync(each, { throwIfNoEntry: false })), real].slice(-MOST);
    makeFolder(dirname(listFile()));
    replaceFile(listFile(), (write) => write(Buffer.from(`${JSON.stringify(kept, null, 2)}\n`)));
  } catch {
    // There is no home folder, or it is read-only: use `nudge dashboard --data DIR` instead.
  }
}
