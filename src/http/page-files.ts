/**
 * The files of a page: its document, its style sheets, and the modules that its program imports, found by following the
 * imports (including packages). They are read once and served from memory by their exact names, so no name from a
 * browser ever becomes a path.
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { escapeXml } from "../drawing/svg.js";
import { DataError } from "../errors.js";

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** The parts of a page. */
export interface PageParts {
  readonly title: string;
  /** Its folder, relative to the folder of the compiled package. Its program there is `main.js`. */
  readonly folder: string;
  /** Its style sheets in `style/`, in the order in which they apply, after the shared one (`http/style/page.css`) if it is used. */
  readonly styles: readonly string[];
  readonly sharedStyle?: boolean;
  /** The text for browsers without JavaScript. */
  readonly noScript: string;
}

const styleAddress = (name: string): string => `/style/${name}.css`;

/** The URL of a module, by its name below the compiled program. */
const address = (name: string): string => `/code/${name}`;

/** The name of the style sheet that several pages use. */
const SHARED = "page";

const sheetsOf = ({ sharedStyle, styles }: PageParts): readonly string[] =>
  sharedStyle ? [SHARED, ...styles] : styles;

/** The files by URL. `base` is the folder of the compiled package. */
export function pageFiles(base: URL, page: PageParts): Map<string, PageFile> {
  const modules = new Map<string, string>();
  const program = `${page.folder}/main.js`;
  readModule(base, program, new URL(program, base), modules);
  const files = new Map<string, PageFile>();
  for (const [name, text] of modules)
    files.set(address(name), { type: "text/javascript; charset=utf-8", body: Buffer.from(text) });
  for (const name of sheetsOf(page)) {
    const folder = name === SHARED ? "http" : page.folder;
    const style = read(new URL(`${folder}/style/${name}.css`, base));
    files.set(styleAddress(name), { type: "text/css; charset=utf-8", body: Buffer.from(style) });
  }
  files.set("/", { type: "text/html; charset=utf-8", body: Buffer.from(documentWith(page, [...modules.keys()])) });
  return files;
}

/** Responds with a file of the page; returns false if there is none. */
export function sendPageFile(request: IncomingMessage, response: ServerResponse, file: PageFile | undefined): boolean {
  if (!file) return false;
  response.writeHead(200, { "Content-Type": file.type, "Content-Length": file.body.length });
  response.end(request.method === "HEAD" ? undefined : file.body);
  return true;
}

/** Imports and exports from other modules. Compilers write them at the start of a line or statement. */
const FROM = /((?:^|;)(?:import|export)\b[^"';]*?\bfrom ?)"([^"]+)"/gm;

const require = createRequire(import.meta.url);

/** Reads a module and its imports. Browsers need URLs, so each import is replaced by the URL of its module. */
function readModule(base: URL, name: string, url: URL, modules: Map<string, string>): void {
  if (modules.has(name)) return;
  modules.set(name, "");
  const text = read(url).replace(FROM, (_, start: string, from: string) => {
    const isOwn = from.startsWith(".");
    const file = isOwn ? new URL(from, url) : pathToFileURL(require.resolve(from));
    const other = isOwn ? file.href.slice(base.href.length) : `library/${from}.js`;
    readModule(base, other, file, modules);
    return `${start}"${address(other)}"`;
  });
  modules.set(name, text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
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

/** The document; the program creates everything else. The modules are listed, so that the browser requests them at once. */
function documentWith(page: PageParts, modules: readonly string[]): string {
  const { title, folder, noScript } = page;
  const styles = sheetsOf(page).map((name) => `<link rel="stylesheet" href="${styleAddress(name)}">`);
  const preloads = modules.map((name) => `<link rel="modulepreload" href="${escapeXml(address(name))}">`);
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
<script type="module" src="${address(`${folder}/main.js`)}"></script>
</head>
<body>
<noscript>${escapeXml(noScript)}</noscript>
</body>
</html>
`;
}
