/**
 * The files that a JavaScript module imports, directly and through other files, found in its text: `import`, `export …
 * from`, `import()` and `require()` with a path. Packages are named with their version and are not searched. A path that
 * is computed at run time is not found.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

export interface ImportedFile {
  /** Its path relative to the folder of the first module, with forward slashes; or the name and version of a package. */
  readonly file: string;
  /** SHA-256 of its content; for a package, of its `package.json`. */
  readonly sha256: string;
}

const IMPORTS = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(?:"([^"\n]+)"|'([^'\n]+)'|`([^`$\n]+)`)/g;

/** The endings that `require` adds. */
const ENDINGS = ["", ".js", ".mjs", ".cjs", ".json", "/index.js"];

const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** The imported files of a module, sorted by name; without the module itself. `ignored` are names of packages. */
export function importedFiles(path: string, ignored: readonly string[] = []): ImportedFile[] {
  const first = resolve(path);
  const seen = new Set([first]);
  const found = new Map<string, ImportedFile>();
  const open = [first];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const text = readFileSync(file, "utf8");
    for (const [, double, single, back] of text.matchAll(IMPORTS)) {
      const name = double ?? single ?? back;
      const target = /^(?:\.|\/|file:)/.test(name) ? fileAt(name, file) : undefined;
      if (target === undefined) {
        const own = /^(?:\.|\/|file:|node:)/.test(name) ? undefined : packageAt(name, file);
        if (own && !ignored.includes(own.name)) found.set(own.file, own);
      } else if (!seen.has(target)) {
        seen.add(target);
        const shown = relative(dirname(first), target).split(sep).join("/");
        found.set(shown, { file: shown, sha256: hashOf(readFileSync(target)) });
        if (/\.[cm]?[jt]s$/.test(target)) open.push(target);
      }
    }
  }
  return [...found.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
}

function fileAt(name: string, from: string): string | undefined {
  const path = name.startsWith("file:") ? fileURLToPath(name) : resolve(dirname(from), name.replace(/[?#].*$/, ""));
  return ENDINGS.map((ending) => path + ending).find((each) => statSync(each, { throwIfNoEntry: false })?.isFile());
}

/** The package that a name belongs to, if it is installed beside the file or above. */
function packageAt(name: string, from: string): (ImportedFile & { readonly name: string }) | undefined {
  const id = name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", id, "package.json");
    if (existsSync(path)) {
      const bytes = readFileSync(path);
      const { version } = JSON.parse(bytes.toString("utf8")) as { version?: string };
      return { name: id, file: `${id}@${version}`, sha256: hashOf(bytes) };
    }
    if (folder === dirname(folder)) return undefined;
  }
}
