/**
 * A checkpoint: everything that is needed to resume a run, in one file that is written under a temporary name and
 * renamed, so that there is always a complete one. Tensors are under `model/`, `optimizer/` and `follower/`; numbers
 * are JSON in the file's metadata.
 */

import * as v from "valibot";
import type { Follower } from "../averaging/index.js";
import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { DataError, UsageError } from "../errors.js";
import { parseStored, type Schema, wholeSchema } from "../files/stored-json.js";
import { METADATA_KEY } from "../model/about.js";
import { placed } from "../nn/module.js";
import { type Learner, under } from "./learner.js";

/** What is remembered of a run besides tensors. */
export interface Progress {
  /** Updates made: the step that comes next. */
  next: number;
  /** Whether the update of step `next` is made too, and only its evaluation is not: it was stopped in that. */
  updated?: true;
  /** Whether a follower has said that going on changes nothing. */
  stopped: boolean;
  /** Scalars logged since the last evaluation: their sums, and of how many updates. */
  logs: { sums: Record<string, number>; count: number };
  /** Rows in the record file; absent in checkpoints from before it was kept. */
  records?: number;
  /** The best evaluation so far by training-domain validation. */
  best: { step: number; accuracy: number } | null;
}

interface Stored extends Progress {
  readonly format: 1;
  readonly hash: string;
  readonly optimizers: Record<string, Record<string, number>>;
  readonly followers: Record<string, Record<string, number>>;
}

export interface Checkpointed {
  readonly learner: Learner;
  readonly followers: readonly Follower[];
}

/** Writes a checkpoint; `hash` names the run it is of. */
export function writeCheckpoint(
  path: string,
  hash: string,
  progress: Progress,
  { learner, followers }: Checkpointed,
): void {
  const { tensors, numbers } = learner.state();
  const stored: Stored = { format: 1, hash, ...inOrder(progress), optimizers: numbers, followers: {} };
  for (const follower of followers) {
    const state = follower.state();
    stored.followers[follower.id] = state.numbers;
    for (const [name, tensor] of state.tensors) tensors.set(`follower/${follower.id}/${name}`, tensor);
  }
  writeWeights(path, tensors, { [METADATA_KEY]: JSON.stringify(stored) });
}

/** Puts a checkpoint back and returns how far the run was. */
export function readCheckpoint(path: string, hash: string, { learner, followers }: Checkpointed): Progress {
  const stored = readStored(path, hash);
  try {
    scope(() => {
      const tensors: Map<string, Tensor> = readWeights(path);
      learner.loadState({ tensors, numbers: stored.optimizers });
      for (const follower of followers) {
        // A follower keeps what it is given, and averages it with parameters: where those are and, to the bit, as they lie.
        const kept = under(`follower/${follower.id}/`, tensors);
        checkAverages(path, kept, learner.parameters());
        const own = new Map([...kept].map(([name, tensor]) => [name, placed(tensor, learner.place)]));
        follower.loadState({ tensors: own, numbers: stored.followers[follower.id] ?? {} });
      }
    });
  } catch (cause) {
    // Optimizers and modules know of no file: what does not fit them is the file's fault here.
    if (cause instanceof UsageError) throw new DataError(`${path}: ${cause.message}`, { cause });
    throw cause;
  }
  return inOrder(stored);
}

/** A follower averages tensors with the parameters whose names theirs end in, and cannot tell whether they fit when it gets them. */
function checkAverages(path: string, kept: ReadonlyMap<string, Tensor>, parameters: ReadonlyMap<string, Tensor>): void {
  for (const [name, tensor] of kept) {
    const ends = Array.from(name.matchAll(/(?<=^|[./])./g), ({ index }) => name.slice(index));
    const parameter = ends.map((end) => parameters.get(end)).find((found) => found !== undefined);
    if (parameter && parameter.describe() !== tensor.describe())
      throw new DataError(`${path}: "${name}" is ${tensor.describe()}, but its parameter is ${parameter.describe()}`);
  }
}

/** Progress with its keys in one order, whenever each was set: a resumed run writes the same bytes. */
function inOrder({ next, updated, stopped, logs, records, best }: Progress): Progress {
  return { next, ...(updated && { updated }), stopped, logs, ...(records !== undefined && { records }), best };
}

function readStored(path: string, hash: string): Stored {
  using file = openWeights(path);
  const stored = parseStored(storedSchema, file.metadata[METADATA_KEY] ?? "null", { path, what: "a checkpoint" });
  if (stored.hash !== hash)
    throw new DataError(`${path}: expected a checkpoint of the run ${hash}, but it belongs to ${stored.hash}`);
  return stored;
}

const numbersSchema = v.record(v.string(), v.number("a number"), "numbers by name");
const statesSchema = v.record(v.string(), numbersSchema, "numbers by name");

const storedSchema: Schema<Stored> = v.object({
  format: v.literal(1, "1"),
  hash: v.string("a text"),
  next: wholeSchema,
  updated: v.optional(v.literal(true, "true")),
  stopped: v.boolean("true or false"),
  logs: v.object({ sums: numbersSchema, count: wholeSchema }, "sums and their count"),
  records: v.optional(wholeSchema),
  best: v.nullable(v.object({ step: wholeSchema, accuracy: v.number("a number") }, "a step and its accuracy")),
  optimizers: statesSchema,
  followers: statesSchema,
});
