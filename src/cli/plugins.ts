/**
 * Plug-ins: `--plugin ./mine.js` adds what a file defines to what there is. The file is an ES module that exports what
 * `defineAlgorithm`, `defineRegularizer`, `defineDataset`, `defineBackbone` or `defineLauncher` made:
 *
 *     import { defineAlgorithm } from "nudge-dg";
 *     export const mine = defineAlgorithm({ id: "mine", title: "Mine", … });
 *
 * `nudge-dg` means this very program there, wherever the file lies and whether or not the package is installed beside it: a
 * second copy would have registries and an engine of its own.
 *
 * A plug-in is code with the rights of the person who names it. So none is ever loaded because a run folder, a sweep or a model
 * says it was made with one: it must be named again. Processes that this one starts get the names in $NUDGE_PLUGINS.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { register } from "node:module";
import { basename, delimiter, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { algorithms } from "../algorithms/index.js";
import { backbones } from "../backbones/index.js";
import { datasets } from "../data/datasets/index.js";
import { cameFrom, type DefinitionKind, isPluginLoaded, kindOf, type PluginFile } from "../definitions.js";
import { UsageError } from "../errors.js";
import { optimizers, schedules } from "../optim/index.js";
import { regularizers } from "../regularizers/index.js";
import { launchers } from "../sweep/launchers/index.js";

/** What every definition has. */
interface Definition {
  readonly id: string;
  /** Launchers have none. */
  readonly title?: string;
}

/** The registries are constant but for this module. */
const registries: Readonly<Record<DefinitionKind, Record<string, Definition>>> = {
  algorithm: algorithms as Record<string, Definition>,
  regularizer: regularizers as Record<string, Definition>,
  dataset: datasets as Record<string, Definition>,
  backbone: backbones as Record<string, Definition>,
  launcher: launchers,
  optimizer: optimizers as Record<string, Definition>,
  schedule: schedules as Record<string, Definition>,
};

/** What a definition must have besides an id and a title, by kind: JavaScript has no compiler to say so. */
const NEEDED: Readonly<Record<DefinitionKind, Readonly<Record<string, "function" | "object" | "string">>>> = {
  algorithm: { paper: "string", hparams: "object", build: "function" },
  regularizer: { paper: "string", hparams: "object" },
  dataset: { summary: "string", layout: "string", options: "object", protocol: "object", open: "function" },
  backbone: { build: "function" },
  launcher: { launch: "function" },
  optimizer: { options: "object", make: "function" },
  schedule: { options: "object", factor: "function" },
};

const MAKERS =
  "defineAlgorithm, defineRegularizer, defineDataset, defineBackbone, defineOptimizer, defineSchedule or defineLauncher";

/** Where the names of plug-ins go on to processes that this one starts, as in PATH. */
export const PLUGINS_VARIABLE = "NUDGE_PLUGINS";

const loaded = new Map<string, Promise<void>>();
let hooked = false;

/** Loads plug-ins, those of $NUDGE_PLUGINS first, and registers what they define; each once. */
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

/** Refuses to go on with what was made with plug-ins that are not loaded, or are not the same any more. */
export function requirePlugins(files: readonly PluginFile[], where: string): void {
  const missing = files.find((file) => !isPluginLoaded(file));
  if (missing)
    throw new UsageError(
      `${where} was made with the plug-in ${missing.file} (SHA-256 ${missing.sha256.slice(0, 16)}…): name it with --plugin; if you did, the file has changed since`,
    );
}

async function load(path: string): Promise<void> {
  const refused = (problem: string, cause?: unknown): UsageError =>
    new UsageError(`plug-in ${path}: ${problem}`, { cause });
  if (!existsSync(path)) throw refused("no such file");
  resolveOwnName();
  let exported: Readonly<Record<string, unknown>>;
  let sha256: string;
  try {
    sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
    exported = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    throw refused(`it could not be loaded: ${cause}`, cause);
  }
  const found = [...new Set(Object.values(exported))].flatMap((value) => {
    const kind = kindOf(value);
    return kind ? [{ kind, definition: value as Definition }] : [];
  });
  if (found.length === 0) throw refused(`it exports nothing that ${MAKERS} made`);
  for (const { kind, definition } of found) {
    const problem = wrongIn(kind, definition) ?? takenBy(kind, definition);
    if (problem) throw refused(problem);
  }
  const file: PluginFile = { file: basename(path), sha256 };
  for (const { kind, definition } of found) {
    registries[kind][definition.id] = definition;
    cameFrom(file, kind, definition.id);
  }
}

function wrongIn(kind: DefinitionKind, definition: Definition): string | undefined {
  const values = definition as unknown as Readonly<Record<string, unknown>>;
  const { id, title } = values;
  if (typeof id !== "string" || !/^[a-z0-9][\w.-]*$/i.test(id))
    return `expected the id of its ${kind} to be a name such as "group-dro", got ${JSON.stringify(id)}`;
  if (kind !== "launcher" && (typeof title !== "string" || title === ""))
    return `expected the ${kind} ${id} to have a title, got ${JSON.stringify(title)}`;
  for (const [name, type] of Object.entries(NEEDED[kind]))
    if (typeof values[name] !== type || values[name] === null)
      return `expected "${name}" of the ${kind} ${id} to be a${type === "object" ? "n" : ""} ${type}, got ${typeof values[name]}`;
  const plain = Object.entries((values.hparams as object) ?? {}).find(([, each]) => !isHparam(each))?.[0];
  if (plain !== undefined)
    return `expected the hyperparameter "${plain}" of the ${kind} ${id} to be declared as hparam(default, range), such as hparam(0.1, powerOfTen(-2, 0)), or as variant([…])`;
  if (kind === "regularizer" && !("weight" in (values.hparams as object)))
    return `expected the regularizer ${id} to have the hyperparameter "weight"`;
  return undefined;
}

const isHparam = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "default" in value && "range" in value;

/** Ids and titles are both names on the command line, where case and hyphens do not count. */
function takenBy(kind: DefinitionKind, { id, title = id }: Definition): string | undefined {
  const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const own = [bare(id), bare(title)];
  const other = Object.values(registries[kind]).find((each) =>
    [each.id, each.title ?? each.id].some((name) => own.includes(bare(name))),
  );
  return other && `its ${kind} ${id} (${title}) has the name of another, ${other.id} (${other.title ?? other.id})`;
}

/** Lets Node find this program under its package's name, from any file. */
function resolveOwnName(): void {
  if (hooked) return;
  hooked = true;
  const hook = `
    let parentURL;
    export function initialize(data) { parentURL = data; }
    export function resolve(specifier, context, next) {
      return specifier === "nudge-dg" ? next("../index.js", { ...context, parentURL }) : next(specifier, context);
    }`;
  register(`data:text/javascript,${encodeURIComponent(hook)}`, { data: import.meta.url, parentURL: import.meta.url });
}
