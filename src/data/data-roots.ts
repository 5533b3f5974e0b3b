/**
 * The folders of pictures that this user has trained on here, in a file of the user's own cache. Settings of a run may come from
 * anybody and name any folder; what is in this list was named by the user. The dashboard shows pictures by it.
 */

import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheHome } from "../files/cache-home.js";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";

/** The oldest are forgotten beyond this. */
const MOST = 500;

const listFile = (): string => join(cacheHome(), "nudge", "data-roots.json");

/** The folders, as real paths; none where there is no list that can be read, or where another user has written it. */
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

/** Adds a folder. Where the list cannot be written, it stays as it is: a run does not fail for it. */
export function rememberDataRoot(root: string): void {
  try {
    const real = realpathSync(root);
    const known = rememberedDataRoots();
    if (known.includes(real)) return;
    const kept = [...known.filter((each) => statSync(each, { throwIfNoEntry: false })), real].slice(-MOST);
    makeFolder(dirname(listFile()));
    replaceFile(listFile(), (write) => write(Buffer.from(`${JSON.stringify(kept, null, 2)}\n`)));
  } catch {
    // No home, or a read-only one: `nudge dashboard --data DIR` names the folder.
  }
}
