/**
 * Evaluates one model at one step and returns rows. Accuracy is the number of correct predictions divided by the number
 * of samples, unweighted. Loss is the mean cross-entropy over the samples. Depending on the loader, pictures of
 * training domains are augmented, with draws that depend on the step.
 */

import type { EvaluatedBatch, Loader } from "../data/loader.js";
import type { Split, SplitName } from "../data/split.js";
import { cat, stack } from "../engine/ops.generated.js";
import { Scope, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import { crossEntropy } from "../nn/index.js";
import { ACCURACY, type RunRecord } from "../records/record.js";

const PARTS: readonly SplitName[] = ["in", "out", "uda"];

export interface EvaluateOptions {
  loader: Loader;
  /** Returns the logits of a batch. The domain and the part are those of its first row. */
  predict: (x: Tensor, domain: string, part: SplitName) => Tensor;
  split: Split;
  /** Selects the parts to evaluate. The default is all. */
  isWanted?: (domain: string, part: SplitName) => boolean;
  step: number;
  /** The model of the rows: `current`, or the id of a follower. */
  model: string;
  /** Whether a batch may contain rows of several parts, so that only the last one is smaller (default: false). */
  mixed?: boolean;
  /** The number of rows of a batch (default: that of the loader, which depends on the device). */
  batchSize?: number;
  /**
   * Called after the last prediction, before the device has finished. If it returns false, all predictions are made
   * again.
   */
  areRight?: () => boolean;
  /** Called after every batch with the progress, so that signals and timers are processed. */
  pause?: (done: number, samples: number) => Promise<void>;
}

/** Returns the accuracy and loss on every part of every domain, in the dataset's order. Empty parts have no rows. */
export async function evaluate(options: EvaluateOptions): Promise<RunRecord[]> {
  const { loader, predict, split, isWanted = () => true, step, model, mixed, batchSize, pause } = options;
  const wanted = [...split].flatMap(([domain, parts]) =>
    PARTS.map((part) => ({ domain, part, count: parts[part].length })).filter(
      ({ part, count }) => count > 0 && isWanted(domain, part),
    ),
  );
  const samples = wanted.reduce((sum, { count }) => sum + count, 0);
  let done = 0;
  using kept = new Scope();
  const sums: Sums[] = [];
  const unsummed: Predicted[] = [];
  for await (const batch of loader.evaluateSplits(wanted, { step, mixed, batchSize })) {
    using _ = batch;
    const { domain, part } = wanted[batch.splits[0].index];
    kept.run(() => {
      const logits = (): Tensor => predict(batch.x, domain, part);
      if (mixed) unsummed.push(scope(() => ({ logits: logits().clone(), y: batch.y.clone(), splits: batch.splits })));
      else sums.push(...scope(() => sumsOf(batch, logits())));
      if (unsummed.length * (unsummed[0]?.logits.numel ?? 0) > MOST_UNSUMMED) sums.push(...sumsTogether(unsummed));
    });
    done += batch.x.rows;
    await pause?.(done, samples);
  }
  if (options.areRight?.() === false) return evaluate({ ...options, areRight: undefined });
  kept.run(() => sums.push(...sumsTogether(unsummed)));
  const totals = wanted.map(() => ({ count: 0, correct: 0, loss: 0 }));
  const [correct, loss] = kept.run(() => [numbersOf(sums, "correct"), numbersOf(sums, "loss")]);
  for (const [i, { index, count }] of sums.entries()) {
    totals[index].count += count;
    totals[index].correct += correct[i];
    totals[index].loss += loss[i];
  }
  return wanted.flatMap(({ domain, part, count: planned }, i) => {
    const { count, correct, loss } = totals[i];
    if (count === 0) throw unreadable(planned, part, domain, loader);
    return [
      { step, model, domain, split: part, metric: ACCURACY, value: correct / count },
      { step, model, domain, split: part, metric: "loss", value: loss / count },
    ];
  });
}

/** The error for a split without a readable sample. It has no accuracy, and model selection needs one. */
function unreadable(planned: number, part: SplitName, domain: string, loader: Loader): DataError {
  const pictures = planned === 1 ? "the only picture" : `none of the ${planned} pictures`;
  const problem = loader.problemIn(domain, part);
  return new DataError(
    `evaluation: ${pictures} of the ${part} split of domain "${domain}" can${planned === 1 ? "not" : ""} be read${problem ? ` (${problem})` : ""}. Repair or remove the files that cannot be read, and train again`,
  );
}

/** The number of correct predictions and the sum of the losses of some rows of a split, on their device. */
interface Sums {
  /** The index of the split. */
  readonly index: number;
  readonly count: number;
  readonly correct: Tensor;
  readonly loss: Tensor;
}

function sumsOf({ y, splits }: EvaluatedBatch, all: Tensor): Sums[] {
  return splits.map(({ index, start, count }) => {
    const [logits, labels] = [all, y].map((rows) => rows.narrow(0, start, count));
    const loss = crossEntropy(logits, labels, { reduction: "sum" });
    return { index, count, correct: logits.argmax(1).eq(labels).sum(), loss };
  });
}

/** The most logits that wait to be summed. */
const MOST_UNSUMMED = 2 ** 24;

/** Copies of the predictions for a batch and of its labels. */
interface Predicted extends Pick<EvaluatedBatch, "y" | "splits"> {
  readonly logits: Tensor;
}

/** The sums of many batches at once, which a GPU computes with few kernels. Frees the predictions. */
function sumsTogether(batches: Predicted[]): Sums[] {
  if (batches.length === 0) return [];
  const sums = scope(() => {
    const [logits, y] = [cat(batches.map((each) => each.logits)), cat(batches.map((each) => each.y))];
    const losses = crossEntropy(logits, y, { reduction: "none" });
    const areCorrect = logits.argmax(1).eq(y);
    return joined(batches).map(({ index, start, count }) => ({
      ...{ index, count },
      correct: areCorrect.narrow(0, start, count).sum(),
      loss: losses.narrow(0, start, count).sum(),
    }));
  });
  for (const { logits, y } of batches.splice(0)) for (const each of [logits, y]) each.dispose();
  return sums;
}

/** The rows of each split in all batches together. */
function joined(batches: readonly Predicted[]): { index: number; start: number; count: number }[] {
  const parts: { index: number; start: number; count: number }[] = [];
  let start = 0;
  for (const { index, count } of batches.flatMap(({ splits }) => splits)) {
    const last = parts.at(-1);
    if (last?.index === index) last.count += count;
    else parts.push({ index, start, count });
    start += count;
  }
  return parts;
}

/** Reads one of the sums of all batches at once, because on a GPU every read makes the host wait. */
const numbersOf = (sums: readonly Sums[], name: "correct" | "loss"): number[] =>
  sums.length === 0 ? [] : stack(sums.map((each) => each[name])).toNumbers();

/** Returns the mean of a metric over the `out` splits of some domains, which selection and SWAD use. */
export function validationMean(rows: readonly RunRecord[], metric: string, domains: readonly string[]): number {
  const values = rows
    .filter((row) => row.metric === metric && row.split === "out" && domains.includes(row.domain ?? ""))
    .map(({ value }) => value);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
