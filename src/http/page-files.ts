/**
 * The files of the page: its document, its style, and the modules that its program imports, found by following the imports.
 * They are read once and served from memory by their exact names, so no name that a browser sends ever becomes a path.
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { escapeXml } from "../drawing/svg.js";
import { DataError } from "../errors.js";

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** What a page is made of. */
export interface PageParts {
  readonly title: string;
  /** Its folder, from the one that the package was compiled into; its program there is `main.js`. */
  readonly folder: string;
  /** Its style sheets in `style/` there, in the order in which they apply. */
  readonly styles: readonly string[];
  /** What is said where there is no JavaScript. */
  readonly noScript: string;
}

const styleAddress = (name: string): string => `/style/${name}.css`;

/** The files by address; `base` is the folder the package was compiled into. */
export function pageFiles(base: URL, page: PageParts): Map<string, PageFile> {
  const modules = new Map<string, string>();
  readModule(base, new URL(`${page.folder}/main.js`, base), modules);
  const files = new Map<string, PageFile>();
  for (const [name, text] of modules)
    files.set(`/code/${name}`, { type: "text/javascript; charset=utf-8", body: Buffer.from(text) });
  for (const name of page.styles) {
    const style = read(new URL(`${page.folder}/style/${name}.css`, base));
    files.set(styleAddress(name), { type: "text/css; charset=utf-8", body: Buffer.from(style) });
  }
  files.set("/", { type: "text/html; charset=utf-8", body: Buffer.from(documentWith(page, [...modules.keys()])) });
  return files;
}

/** Answers with a file of the page; false where there is none. */
export function sendPageFile(request: IncomingMessage, response: ServerResponse, file: PageFile | undefined): boolean {
  if (!file) return false;
  response.writeHead(200, { "Content-Type": file.type, "Content-Length": file.body.length });
  response.end(request.method === "HEAD" ? undefined : file.body);
  return true;
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
      `the page: ${url.pathname} cannot be read: ${(cause as Error).message}. Build it with: npm run setup`,
      { cause },
    );
  }
}

/** The document: all else is made by the program. The modules are named, so that they are asked for at once. */
function documentWith({ title, folder, styles: sheets, noScript }: PageParts, modules: readonly string[]): string {
  const styles = sheets.map((name) => `<link rel="stylesheet" href="${styleAddress(name)}">`);
  const preloads = modules.map((name) => `<link rel="modulepreload" href="/code/${escapeXml(name)}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeXml(title)}</title>
<link rel="icon" href="data:,">
${styles.join("\n")}
${preloads.join("\n")}
<script type="module" src="/code/${folder}/main.js"></script>
</head>
<body>
<noscript>${escapeXml(noScript)}</noscript>
</body>
</html>
`;
}
