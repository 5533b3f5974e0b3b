/**
 * Plug-ins: `--plugin ./mine.js` registers the definitions of a file. The file is an ES module that exports the results
 * of `defineAlgorithm`, `defineRegularizer`, `defineFollower`, `defineDataset`, `defineBackbone`, `defineOptimizer`,
 * `defineSchedule` or `defineLauncher`:
 *
 *     import { defineAlgorithm } from "nudge-dg";
 *     export const mine = defineAlgorithm({ id: "mine", title: "Mine", … });
 *
 * In a plug-in, `nudge-dg` always resolves to this program, wherever the file is and whether or not the package is
 * installed next to it. A second copy would have its own registries and its own engine.
 *
 * A plug-in is code that runs with the permissions of the user. It is therefore never loaded just because a run folder,
 * a sweep or a model was made with it: the user must name it again. Child processes receive the names in
 * $NUDGE_PLUGINS.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { register as registerHook } from "node:module";
import { basename, delimiter, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isPluginLoaded, kindOf, type PluginFile } from "../definitions.js";
import { UsageError } from "../errors.js";
import { importedFiles } from "../files/imported-files.js";
import { addDefinition, type Definition, problemOf } from "../library/register.js";

const MAKERS =
  "defineAlgorithm, defineRegularizer, defineFollower, defineDataset, defineBackbone, defineOptimizer, defineSchedule or defineLauncher";

/** The environment variable that passes the names of plug-ins to child processes, in the format of PATH. */
export const PLUGINS_VARIABLE = "NUDGE_PLUGINS";

const loaded = new Map<string, Promise<void>>();
let hooked = false;

/** Loads plug-ins, those of $NUDGE_PLUGINS first, and registers their definitions. Each is loaded once. */
export async function loadPlugins(paths: readonly string[]): Promise<void> {
  const inherited = (process.env[PLUGINS_VARIABLE] ?? "").split(delimiter).filter((path) => path !== "");
  const all = [...new Set([...inherited, ...paths].map((path) => resolve(path)))];
  if (all.length === 0) return;
  for (const path of all) {
    if (!loaded.has(path)) loaded.set(path, load(path));
    await loaded.get(path);
  }
  process.env[PLUGINS_VARIABLE] = all.join(delimiter);
}

/** The paths of the plug-ins that are loaded. */
export const loadedPlugins = (): string[] => [...loaded.keys()];

/** Throws if something was made with plug-ins that are not loaded or have changed since. */
export function requirePlugins(files: readonly PluginFile[], where: string): void {
  const missing = files.find((file) => !isPluginLoaded(file));
  if (missing)
    throw new UsageError(
      `${where} was made with the plug-in ${missing.file} (SHA-256 ${missing.sha256.slice(0, 16)}…): load it with --plugin; if you already do, the file has changed since`,
    );
}

async function load(path: string): Promise<void> {
  const refused = (problem: string, cause?: unknown): UsageError =>
    new UsageError(`plug-in ${path}: ${problem}`, { cause });
  if (!existsSync(path)) throw refused("no such file");
  resolveOwnName();
  let exported: Readonly<Record<string, unknown>>;
  let sha256: string;
  let imports: PluginFile["imports"];
  try {
    sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
    imports = importedFiles(path, ["nudge-dg"]);
    exported = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    throw refused(`it could not be loaded: ${cause}`, cause);
  }
  const found = [...new Set(Object.values(exported))].flatMap((value) => {
    const kind = kindOf(value);
    return kind ? [{ kind, definition: value as Definition }] : [];
  });
  if (found.length === 0) throw refused(`it exports no definition made with ${MAKERS}`);
  for (const { kind, definition } of found) {
    const problem = problemOf(kind, definition);
    if (problem) throw refused(problem);
  }
  const titled = found.flatMap(({ definition: { id, title } }) => (title === undefined ? [] : [[id, title] as const]));
  const titles = titled.length > 0 && { titles: Object.fromEntries(titled) };
  const file: PluginFile = { file: basename(path), sha256, ...titles, imports };
  for (const { kind, definition } of found) addDefinition(kind, definition, file);
}

/** Lets Node.js resolve this program's package name and exported subpaths from any file. */
function resolveOwnName(): void {
  if (hooked) return;
  hooked = true;
  const hook = `
    let parentURL, files;
    export function initialize(data) { ({ parentURL, files } = data); }
    export function resolve(specifier, context, next) {
      const file = Object.hasOwn(files, specifier) ? files[specifier] : undefined;
      return file ? next(file, { ...context, parentURL }) : next(specifier, context);
    }`;
  registerHook(`data:text/javascript,${encodeURIComponent(hook)}`, {
    data: { parentURL: import.meta.url, files: exportedFiles() },
    parentURL: import.meta.url,
  });
}

/** The files of this program by the names under which package.json exports them, relative to this file. */
function exportedFiles(): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    exports: Record<string, { default: string }>;
  };
  const names = Object.entries(exports);
  return Object.fromEntries(
    names.map(([name, file]) => [name.replace(".", "nudge-dg"), file.default.replace("./dist/", "../")]),
  );
}
