/**
 * The registries, where a name such as `erm` is looked up. Plug-ins (cli/plugins.ts) and definitions that a program
 * passes to `train` or `register` are added here; nothing else changes a registry.
 */

import { createHash } from "node:crypto";
import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { backbones } from "../backbones/index.js";
import { datasets } from "../data/datasets/index.js";
import { cameFrom, type DefinitionKind, definitionText, kindOf, type PluginFile } from "../definitions.js";
import { UsageError } from "../errors.js";
import { optimizers, schedules } from "../optim/index.js";
import { regularizers } from "../regularizers/index.js";
import { launchers } from "../sweep/launchers/index.js";

/** The fields that every definition has. */
export interface Definition {
  readonly id: string;
  /** Launchers have none. */
  readonly title?: string;
}

const registries: Readonly<Record<DefinitionKind, Record<string, Definition>>> = {
  algorithm: algorithms as Record<string, Definition>,
  regularizer: regularizers as Record<string, Definition>,
  follower: followers as Record<string, Definition>,
  dataset: datasets as Record<string, Definition>,
  backbone: backbones as Record<string, Definition>,
  launcher: launchers,
  optimizer: optimizers as Record<string, Definition>,
  schedule: schedules as Record<string, Definition>,
};

/** The required fields of a definition besides id and title, by kind: in JavaScript no compiler checks them. */
const NEEDED: Readonly<Record<DefinitionKind, Readonly<Record<string, "function" | "object" | "string">>>> = {
  algorithm: { paper: "string", hparams: "object", build: "function" },
  regularizer: { paper: "string", hparams: "object" },
  follower: { paper: "string", settings: "object", evaluated: "string" },
  dataset: { summary: "string", layout: "string", options: "object", protocol: "object", open: "function" },
  backbone: { build: "function" },
  launcher: { launch: "function" },
  optimizer: { options: "object", make: "function" },
  schedule: { options: "object", factor: "function" },
};

/** Definitions that a program registered; a later one with the same id replaces them. */
const ofPrograms = new WeakSet<Definition>();

/**
 * Makes definitions known by their ids, as `--plugin` does on the command line, so that settings, sweeps and model files can name them.
 * A definition replaces an earlier one of the same id that was registered here; it never replaces a built-in one.
 *
 * @example register(defineBackbone({ id: "mine", … })); await train({ dataset: "shapes", backbone: "mine", … });
 */
export function register(...definitions: readonly object[]): void {
  for (const definition of definitions) {
    const kind = kindOf(definition);
    if (!kind)
      throw new UsageError(
        "register: expected what defineAlgorithm, defineRegularizer or another define… function returned",
      );
    registerAs(kind, definition as Definition);
  }
}

/** Registers a definition of a kind; its id is returned. */
export function registerAs(kind: DefinitionKind, definition: Definition): string {
  const present = Object.hasOwn(registries[kind], definition.id) ? registries[kind][definition.id] : undefined;
  if (present === definition) return definition.id;
  if (present && ofPrograms.has(present)) delete registries[kind][definition.id];
  const problem = problemOf(kind, definition);
  if (problem) {
    if (present) registries[kind][definition.id] = present;
    throw new UsageError(problem);
  }
  // Run folders are named by what changes results, and the code of the definition does.
  const sha256 = createHash("sha256").update(definitionText(definition)).digest("hex");
  addDefinition(kind, definition, { file: `${kind} ${definition.id}`, sha256 });
  ofPrograms.add(definition);
  return definition.id;
}

/** Adds a definition that `problemOf` accepted. */
export function addDefinition(kind: DefinitionKind, definition: Definition, file: PluginFile): void {
  registries[kind][definition.id] = definition;
  cameFrom(file, kind, definition.id);
}

/** The problem with a definition or with adding it to its registry, if any. */
export const problemOf = (kind: DefinitionKind, definition: Definition): string | undefined =>
  wrongIn(kind, definition) ?? takenBy(kind, definition);

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

/** Ids and titles are both names on the command line, where case and hyphens are ignored. */
function takenBy(kind: DefinitionKind, { id, title = id }: Definition): string | undefined {
  const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const own = [bare(id), bare(title)];
  const other = Object.values(registries[kind]).find((each) =>
    [each.id, each.title ?? each.id].some((name) => own.includes(bare(name))),
  );
  return other && `its ${kind} ${id} (${title}) has the name of another, ${other.id} (${other.title ?? other.id})`;
}
