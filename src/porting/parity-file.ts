/**
 * Parity files: the recorded updates of a reference implementation, for comparison with another. A parity file is a
 * safetensors file whose metadata key `nudge-parity` has the cases as JSON (`ParityCase`), with tensors by name:
 *
 *     CASE/start/NAME              the state before the first update
 *     CASE/batch/STEP/DOMAIN/x, y  the minibatches
 *     CASE/draw/STEP/NAME/USE      the random draws (stored-draws.ts)
 *     CASE/after/COUNT/NAME        the state after this number of updates; missing tensors are unchanged
 *     CASE/predict/x, logits       samples, and their logits after the last update
 *
 * The names of states are those of this project: if one is missing, `nudge parity FILE` prints the expected names.
 * Tensors that all cases share have no `CASE/`. docs/porting.md has an example.
 */

import { openWeights } from "../engine/open-weights.js";
import type { Tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { DataError } from "../errors.js";
import type { HparamValue } from "../hparams.js";

export const PARITY_KEY = "nudge-parity";
export const PARITY_FORMAT = 1;

/** A sequence of updates of one algorithm. */
export interface ParityCase {
  /** An id or a title. */
  readonly algorithm: string;
  /** Hyperparameters by the names of this project or of the reference. The others have their defaults. */
  readonly hparams: Readonly<Record<string, HparamValue>>;
  readonly backbone: {
    readonly id: string;
    readonly inputShape: readonly number[];
    readonly width?: number;
    readonly depth?: number;
  };
  readonly classes: number;
  readonly domains: number;
  readonly updates: number;
  /** Each has an id and settings. */
  readonly regularizers?: readonly (Readonly<Record<string, HparamValue>> & { readonly id: string })[];
  /** The values that each update logged, by name. */
  readonly logs?: readonly Readonly<Record<string, number>>[];
}

export interface ParityFile {
  readonly path: string;
  /** The program that made the numbers. */
  readonly source: string;
  readonly cases: Readonly<Record<string, ParityCase>>;
}

/** The cases of a parity file. `caseTensors` reads the numbers. */
export function readParityFile(path: string): ParityFile {
  using file = openWeights(path);
  const text = file.metadata[PARITY_KEY];
  if (text === undefined)
    throw new DataError(`${path}: expected a parity file, with the metadata key "${PARITY_KEY}" (docs/porting.md)`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new DataError(`${path}: ${PARITY_KEY}: expected JSON, got ${text.slice(0, 40)}`, { cause });
  }
  const { format, source, cases } = objectAt(path, PARITY_KEY, parsed);
  if (format !== PARITY_FORMAT)
    throw new DataError(`${path}: ${PARITY_KEY}.format: expected ${PARITY_FORMAT}, got ${String(format)}`);
  const all = objectAt(path, `${PARITY_KEY}.cases`, cases);
  return {
    path,
    source: typeof source === "string" ? source : "unknown",
    cases: Object.fromEntries(Object.entries(all).map(([name, each]) => [name, parityCase(path, name, each)])),
  };
}

/** The tensors of a case without its name, including those that all cases share. They belong to the current scope. */
export function caseTensors({ path, cases }: ParityFile, name: string): Map<string, Tensor> {
  const own = new Map<string, Tensor>();
  const shared = new Map<string, Tensor>();
  for (const [key, value] of readWeights(path)) {
    const [first] = key.split("/");
    if (!Object.hasOwn(cases, first)) shared.set(key, value);
    else if (first === name) own.set(key.slice(name.length + 1), value);
  }
  return new Map([...shared, ...own]);
}

function parityCase(path: string, name: string, value: unknown): ParityCase {
  const at = `${PARITY_KEY}.cases.${name}`;
  if (name.includes("/")) throw new DataError(`${path}: ${at}: a case's name has no "/"`);
  const read = objectAt(path, at, value);
  const { algorithm, backbone, hparams = {}, regularizers = [], logs } = read;
  if (typeof algorithm !== "string") throw new DataError(`${path}: ${at}.algorithm: expected a name, got ${algorithm}`);
  const body = objectAt(path, `${at}.backbone`, backbone);
  if (typeof body.id !== "string") throw new DataError(`${path}: ${at}.backbone.id: expected a name, got ${body.id}`);
  const shape: unknown = body.inputShape;
  if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size > 0))
    throw new DataError(`${path}: ${at}.backbone.inputShape: expected sizes, got ${JSON.stringify(shape)}`);
  for (const count of ["classes", "domains", "updates"] as const)
    if (!(Number.isSafeInteger(read[count]) && (read[count] as number) > 0))
      throw new DataError(`${path}: ${at}.${count}: expected an integer of at least 1, got ${read[count]}`);
  objectAt(path, `${at}.hparams`, hparams);
  if (!Array.isArray(regularizers) || (logs !== undefined && !Array.isArray(logs)))
    throw new DataError(`${path}: ${at}: expected lists as regularizers and logs`);
  return { ...(read as unknown as ParityCase), hparams: hparams as ParityCase["hparams"], regularizers };
}

function objectAt(path: string, at: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new DataError(`${path}: ${at}: expected an object, got ${JSON.stringify(value)}`);
  return value as Readonly<Record<string, unknown>>;
}
