/** The package's own version. */

import { readFileSync } from "node:fs";

/** What package.json says; the file is two folders up both from src/library and from dist/library. */
export function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}
