/**
 * The folders that this user has named, in files in the user's cache: folders of pictures to train on, and cache folders.
 * Settings of a run and plans of a sweep can come from anybody and name any folder, but these lists contain only folders
 * that the user named. The dashboard shows pictures from these folders only, and a cache that settings name is written
 * only if it is one of these.
 */

import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { cacheHome } from "../files/cache-home.js";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";

/** The maximum number of entries. The oldest are removed. */
const MOST = 500;

const ROOTS = "data-roots.json";
const CACHES = "cache-folders.json";

const listFile = (list: string): string => join(cacheHome(), "nudge", list);

/** The folders of pictures as real paths; empty if the list cannot be read or another user has written it. */
export const rememberedDataRoots = (): string[] => remembered(ROOTS);

function remembered(list: string): string[] {
  try {
    const path = listFile(list);
    if (process.getuid && statSync(path).uid !== process.getuid()) return [];
    const value: unknown = JSON.parse(readText(path));
    return Array.isArray(value) ? value.filter((root) => typeof root === "string" && root.startsWith("/")) : [];
  } catch {
    return [];
  }
}

/** Adds a folder of pictures. If the list cannot be written, it stays unchanged, and the run continues. */
export const rememberDataRoot = (root: string): void => remember(ROOTS, root, realpathSync);

/** Adds a cache folder, which may not exist yet; other values of the setting are ignored. */
export function rememberCache(cache: unknown): void {
  if (isFolderSetting(cache)) remember(CACHES, cache, resolve);
}

const isFolderSetting = (cache: unknown): cache is string =>
  typeof cache === "string" && cache !== "" && cache !== "false" && cache !== "true";

/** The cache that settings from disk name, if this user named the same one before; otherwise none. */
export const ownCache = <T>(cache: T): T | undefined =>
  isFolderSetting(cache) && !remembered(CACHES).includes(resolve(cache)) ? undefined : cache;

function remember(list: string, folder: string, find: (folder: string) => string): void {
  try {
    const real = find(folder);
    const known = remembered(list);
    if (known.includes(real)) return;
    const left = list === CACHES ? known : known.filter((each) => statSync(each, { throwIfNoEntry: false }));
    makeFolder(dirname(listFile(list)));
    const kept = `${JSON.stringify([...left, real].slice(-MOST), null, 2)}\n`;
    replaceFile(listFile(list), (write) => write(Buffer.from(kept)));
  } catch {
    // There is no home folder, or it is read-only: use `nudge dashboard --data DIR` instead.
  }
}
