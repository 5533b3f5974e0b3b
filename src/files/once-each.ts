/** Folders that have several names, such as a run and the link `latest` beside it, taken once. */

import { existsSync, lstatSync, realpathSync } from "node:fs";

/** The paths without second names of a folder, in their order; a name of its own is kept rather than a link. */
export function onceEach(paths: readonly string[]): string[] {
  const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  const kept = new Map<string, string>();
  for (const path of paths) {
    const real = existsSync(path) ? realpathSync(path) : path;
    const before = kept.get(real);
    if (before === undefined || (isLink(before) && !isLink(path))) kept.set(real, path);
  }
  const names = new Set(kept.values());
  return paths.filter((path) => names.delete(path));
}
