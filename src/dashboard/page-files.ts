/**
 * The files of the page: its document, its style, and the modules that its program imports, found by following the imports.
 * They are read once and served from memory by their exact names, so no name that a browser sends ever becomes a path.
 */

import { readFileSync } from "node:fs";
import { escapeXml } from "../drawing/svg.js";
import { DataError } from "../errors.js";

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** In the order in which they apply. */
const STYLES = ["base", "frame", "controls", "states", "runs", "run", "charts", "tables", "sweeps", "toy"];
const styleAddress = (name: string): string => `/style/${name}.css`;
const PROGRAM = "dashboard/page/main.js";

/** The files by address; `base` is the folder the package was compiled into. */
export function pageFiles(base: URL): Map<string, PageFile> {
  const modules = new Map<string, string>();
  readModule(base, new URL(PROGRAM, base), modules);
  const files = new Map<string, PageFile>();
  for (const [name, text] of modules)
    files.set(`/code/${name}`, { type: "text/javascript; charset=utf-8", body: Buffer.from(text) });
  for (const name of STYLES) {
    const style = read(new URL(`dashboard/page/style/${name}.css`, base));
    files.set(styleAddress(name), { type: "text/css; charset=utf-8", body: Buffer.from(style) });
  }
  files.set("/", { type: "text/html; charset=utf-8", body: Buffer.from(documentWith([...modules.keys()])) });
  return files;
}

/** Imports and exports from other modules; they stand at the start of a line in what the compiler writes. */
const FROM = /^(?:import|export)\b[^"';]*?\bfrom "(\.[^"]+)";|^import "(\.[^"]+)";/gm;

function readModule(base: URL, url: URL, modules: Map<string, string>): void {
  const name = url.href.slice(base.href.length);
  if (modules.has(name)) return;
  const text = read(url);
  modules.set(name, text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
  for (const [, from, bare] of text.matchAll(FROM)) readModule(base, new URL(from ?? bare, url), modules);
}

function read(url: URL): string {
  try {
    return readFileSync(url, "utf8");
  } catch (cause) {
    throw new DataError(
      `the dashboard's page: ${url.pathname} cannot be read: ${(cause as Error).message}. Build it with: npm run setup`,
      { cause },
    );
  }
}

/** The document: all else is made by the program. The modules are named, so that they are asked for at once. */
function documentWith(modules: readonly string[]): string {
  const styles = STYLES.map((name) => `<link rel="stylesheet" href="${styleAddress(name)}">`);
  const preloads = modules.map((name) => `<link rel="modulepreload" href="/code/${escapeXml(name)}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>NUDGE</title>
<link rel="icon" href="data:,">
${styles.join("\n")}
${preloads.join("\n")}
<script type="module" src="/code/${PROGRAM}"></script>
</head>
<body>
<noscript>This page is a program: it needs JavaScript. For tables without it: nudge report</noscript>
</body>
</html>
`;
}
