/**
 * A checkpoint contains everything that is needed to resume a run. It is written under a temporary name and then
 * renamed, so that there is always a complete one. Tensors are stored under `model/`, `optimizer/` and `follower/`, and
 * numbers as JSON in the file's metadata.
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
import type { ValidationLoss } from "../optim/index.js";
import { type Learner, under } from "./learner.js";

/** The state of a run besides tensors. */
export interface Progress {
  /** The number of completed updates, which is the next step. */
  next: number;
  /**
   * Whether the update of step `next` is also completed, but not its evaluation, because the run was stopped during it.
   */
  updated?: true;
  /** Whether the run ends early, because a follower returned "stop" or the patience is exhausted. */
  stopped: boolean;
  /** The sums of the scalars logged since the last evaluation, and the number of updates. */
  logs: { sums: Record<string, number>; count: number };
  /** The number of rows in the record file; absent in older checkpoints. */
  records?: number;
  /** The best evaluation so far by training-domain validation. */
  best: { step: number; accuracy: number } | null;
  /** The validation losses so far, if the schedule follows them. */
  losses?: readonly ValidationLoss[];
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

/** Writes a checkpoint. `hash` identifies the run. */
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

/** Restores a checkpoint and returns the progress of the run. */
export function readCheckpoint(path: string, hash: string, { learner, followers }: Checkpointed): Progress {
  const stored = readStored(path, hash);
  try {
    scope(() => {
      const tensors: Map<string, Tensor> = readWeights(path);
      learner.loadState({ tensors, numbers: stored.optimizers });
      for (const follower of followers) {
        // A follower averages these tensors with the parameters, so they need the same device and memory format to give
        // bitwise equal results.
        const kept = under(`follower/${follower.id}/`, tensors);
        checkAverages(path, kept, learner.parameters());
        const own = new Map([...kept].map(([name, tensor]) => [name, placed(tensor, learner.place)]));
        follower.loadState({ tensors: own, numbers: stored.followers[follower.id] ?? {} });
      }
    });
  } catch (cause) {
    // Optimizers and modules do not know the file name, so it is added to their errors here.
    if (cause instanceof UsageError) throw new DataError(`${path}: ${cause.message}`, { cause });
    throw cause;
  }
  return inOrder(stored);
}

/**
 * Checks that the tensors of a follower match the parameters whose names are the ends of theirs. The follower cannot check
 * this itself when it loads them.
 */
function checkAverages(path: string, kept: ReadonlyMap<string, Tensor>, parameters: ReadonlyMap<string, Tensor>): void {
  for (const [name, tensor] of kept) {
    const ends = Array.from(name.matchAll(/(?<=^|[./])./g), ({ index }) => name.slice(index));
    const parameter = ends.map((end) => parameters.get(end)).find((found) => found !== undefined);
    // The device is not compared: a file's tensors are on the CPU until they are placed.
    if (parameter && kindOf(parameter) !== kindOf(tensor))
      throw new DataError(`${path}: "${name}" is ${kindOf(tensor)}, but its parameter is ${kindOf(parameter)}`);
  }
}

const kindOf = ({ dtype, shape }: Tensor): string => `${dtype}[${shape.join(", ")}]`;

/** Returns the progress with a fixed order of keys, so that a resumed run writes the same bytes. */
function inOrder({ next, updated, stopped, logs, records, best, losses }: Progress): Progress {
  return {
    next,
    ...(updated && { updated }),
    stopped,
    logs,
    ...(records !== undefined && { records }),
    best,
    ...(losses && { losses }),
  };
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
  losses: v.optional(
    v.array(v.object({ step: wholeSchema, loss: v.number("a number") }, "a step and its loss"), "a list"),
  ),
  optimizers: statesSchema,
  followers: statesSchema,
});
