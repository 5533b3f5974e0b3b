/** What compiled JavaScript files import and read beside themselves, followed from one file to the next. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Needed {
  /** Files, as full paths: the first ones, what they import, and what they name by `new URL(…, import.meta.url)`. */
  readonly files: ReadonlySet<string>;
  /** Names of packages. */
  readonly packages: ReadonlySet<string>;
}

const IMPORTS = /(?:^(?:import|export)\b[^"';]*?\bfrom\s*|^import\s*|\bimport\(\s*)"([^"]+)"/gm;
const BESIDE = /new URL\("(\.[^"]+)",\s*import\.meta\.url\)/g;

/** Everything that these files need, directly or through others; what is missing on disk is listed too. */
export function neededBy(first: readonly string[]): Needed {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [...first];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    if (!/\.m?js$/.test(path) || !existsSync(path)) continue;
    const text = readFileSync(path, "utf8");
    const folder = dirname(path);
    for (const [, name] of text.matchAll(IMPORTS)) {
      if (name.startsWith(".")) waiting.push(join(folder, name));
      else if (!name.startsWith("node:")) packages.add(/^(@[^/]+\/)?[^/]+/.exec(name)![0]);
    }
    for (const [, name] of text.matchAll(BESIDE)) {
      const beside = join(folder, name);
      if (!name.endsWith("/") && !statSync(beside, { throwIfNoEntry: false })?.isDirectory()) waiting.push(beside);
    }
  }
  return { files, packages };
}
