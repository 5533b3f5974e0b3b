/** The package's own version. */

import { readFileSync } from "node:fs";

/** What package.json says; the file is two folders up both from src/cli and from dist/cli. */
export function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}
