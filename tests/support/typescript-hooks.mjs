// Module hooks that let Node import our TypeScript: `./x.js` is found as `./x.ts`, and sources go through the compiler that
// vitest uses. Its output is kept under node_modules/.cache until the source changes, so the compiler is mostly not loaded at all.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Node 20 does not know `using`: the target lowers it to calls of a helper, which run-typescript.mjs has.
 * @type {Parameters<typeof import("vite").transformWithOxc>[2]} */
const options = { lang: "ts", target: "es2022", sourcemap: false, helpers: { mode: "External" } };

const root = new URL("../../", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("node_modules/vite/package.json", root), "utf8"));
const cache = fileURLToPath(new URL("node_modules/.cache/nudge-typescript/", root));

/** @type {import("node:module").ResolveHook} */
export function resolve(specifier, context, next) {
  if (/^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.endsWith(".ts")) {
    const source = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
    if (existsSync(source)) return next(source.href, context);
  }
  return next(specifier, context);
}

/** @type {import("node:module").LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
  const path = fileURLToPath(url);
  return { format: "module", shortCircuit: true, source: await compiled(path, readFileSync(path, "utf8")) };
}

/** A file's compiled code is kept under its path, behind a line that says what it was made from. @param {string} path @param {string} source */
async function compiled(path, source) {
  const hash = (/** @type {unknown[]} */ ...parts) => createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  const kept = join(cache, `${hash(path)}.mjs`);
  const made = `// ${hash(version, options, source)}\n`;
  const before = existsSync(kept) ? readFileSync(kept, "utf8") : "";
  if (before.startsWith(made)) return before;
  const { transformWithOxc } = await import("vite");
  const { code } = await transformWithOxc(source, path, options);
  mkdirSync(cache, { recursive: true });
  const beside = `${kept}.${process.pid}`;
  writeFileSync(beside, made + code);
  renameSync(beside, kept);
  return code;
}
