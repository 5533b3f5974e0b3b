/** The version of the package. */

import { readFileSync } from "node:fs";

/** The version in package.json, which is two folders up both from src/library and from dist/library. */
export function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}
