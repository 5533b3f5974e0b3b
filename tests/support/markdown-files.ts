/** The Markdown files of a folder, without what is built, installed or stored for tests. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

const PASSED_OVER = new Set(["node_modules", "build", "dist", ".git", "vectors"]);

/** Their paths, in the order of their names. */
export function markdownFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !PASSED_OVER.has(name) && !/^\.(?!ci)/.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return markdownFiles(path);
      return entry.name.endsWith(".md") ? [path] : [];
    });
}
