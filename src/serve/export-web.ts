/**
 * Exports a model as a page that runs it in the browser: a folder that any static host can serve. The model is an ONNX
 * file, which onnxruntime-web runs; the page is that of `nudge serve`. Pictures never leave the browser.
 */

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { escapeXml } from "../drawing/svg.js";
import { DataError, UsageError } from "../errors.js";
import { exportOnnx, knownAccuracies, modelCard } from "../export/index.js";
import { makeFolder } from "../export/new-folder.js";
import type { Model } from "../model/index.js";
import { unknownRule } from "../model/unknown.js";
import type { OfflineModel } from "./offline-model.js";

export interface WebOptions {
  /** The folder of the compiled package, with a slash at its end. */
  readonly base: URL;
  readonly version?: string;
  /** The package that runs the model. It is looked for beside this package and in the current folder. */
  readonly runtime?: string;
}

/** The program of the page, below the compiled package. */
const PROGRAM = "serve/page/offline.js";
const STYLES = ["http/style/page.css", "serve/page/style/serve.css"];
const RUNTIME = ["ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"];

/** Writes the folder, which must not exist or be empty, and returns the names of its files. On failure nothing is left. */
export function exportWeb(model: Model, path: string, options: WebOptions): string[] {
  const { base, version = "", runtime: name = "onnxruntime-web" } = options;
  const facts = factsOf(model);
  const runtime = runtimeFolder(name);
  return makeFolder(path, (folder) => {
    const put = (name: string, content: string | Buffer): void => {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    };
    exportOnnx(model, join(folder, "model.onnx"), {
      ...{ version, input: "pixels", probabilities: true, percentile: model.distanceStatistics !== null },
    });
    const known = knownAccuracies(model.path, model.about);
    const card = { about: model.about, file: "model.onnx", format: "onnx", input: "pixels", known, version } as const;
    put("model.md", modelCard(card));
    for (const [name, text] of modulesOf(base)) put(`code/${name}`, text);
    put("style.css", STYLES.map((name) => readFileSync(new URL(name, base), "utf8")).join("\n"));
    put("index.html", documentFor(facts));
    mkdirSync(join(folder, "ort"));
    for (const name of RUNTIME) copyFileSync(join(runtime, name), join(folder, "ort", name));
  });
}

function factsOf({ path, about }: Model): OfflineModel {
  const { preprocessing, classes, domains, backbone } = about;
  if (preprocessing.kind !== "pictures")
    throw new UsageError(`export of ${path}: the model takes no pictures, so a page cannot run it`);
  const { shortSide, resize, interpolation, inputShape } = preprocessing;
  return {
    ...{ classes, domains, backbone, unknown: unknownRule(about) },
    framing: { size: inputShape[1], shortSide, ...(resize && { resize }), ...(interpolation && { interpolation }) },
  };
}

/** The folder of onnxruntime-web's files, beside this package or in the user's project. */
function runtimeFolder(name: string): string {
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), "package.json"))])
    try {
      return dirname(createRequire(from).resolve(`${name}/wasm`));
    } catch {
      // looked for in the next place
    }
  throw new UsageError(
    "export --format web: the page needs the package onnxruntime-web, which runs the model in the browser (14 MB in the page). Install it with: npm install onnxruntime-web",
  );
}

/** The program and the modules that it imports, by their names below the compiled package. */
function modulesOf(base: URL): Map<string, string> {
  const found = new Map<string, string>();
  const read = (url: URL): void => {
    const name = url.href.slice(base.href.length);
    if (found.has(name)) return;
    let text: string;
    try {
      text = readFileSync(url, "utf8");
    } catch (cause) {
      throw new DataError(`the page: ${url.pathname} cannot be read. Build it with: npm run setup`, { cause });
    }
    found.set(name, text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
    for (const [, from] of text.matchAll(/^(?:import|export)\b[^"';]*?\bfrom "(\.[^"]+)"/gm)) read(new URL(from, url));
  };
  read(new URL(PROGRAM, base));
  return found;
}

/** JSON that cannot end the element that contains it. */
const inPage = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c");

const documentFor = (model: OfflineModel): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'">
<title>${escapeXml(model.backbone)}, in the browser</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script type="application/json" id="model">${inPage(model)}</script>
<script type="module" src="code/${PROGRAM}"></script>
</head>
<body>
<noscript>This page runs a model in the browser and needs JavaScript.</noscript>
</body>
</html>
`;
