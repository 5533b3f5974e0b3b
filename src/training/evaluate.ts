/**
 * Evaluates one model at one step and returns rows. Accuracy is the number of correct predictions divided by the number
 * of samples, unweighted. Loss is the mean cross-entropy over the samples. Depending on the loader, pictures of
 * training domains are augmented, with draws that depend on the step.
 */

import type { Loader } from "../data/loader.js";
import type { Split, SplitName } from "../data/split.js";
import { Scope, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { crossEntropy } from "../nn/index.js";
import { ACCURACY, type RunRecord } from "../records/record.js";

const PARTS: readonly SplitName[] = ["in", "out", "uda"];

export interface EvaluateOptions {
  loader: Loader;
  predict: (x: Tensor, domain: string, part: SplitName) => Tensor;
  split: Split;
  /** Selects the parts to evaluate. The default is all. */
  isWanted?: (domain: string, part: SplitName) => boolean;
  step: number;
  /** The model of the rows: `current`, or the id of a follower. */
  model: string;
  /** Called after every batch with the progress, so that signals and timers are processed. */
  pause?: (done: number, samples: number) => Promise<void>;
}

/** Returns the accuracy and loss on every part of every domain, in the dataset's order. Empty parts have no rows. */
export async function evaluate(options: EvaluateOptions): Promise<RunRecord[]> {
  const { split, step, model, isWanted = () => true } = options;
  const wanted = [...split].flatMap(([domain, parts]) =>
    PARTS.map((part) => ({ domain, part, count: parts[part].length })).filter(
      ({ part, count }) => count > 0 && isWanted(domain, part),
    ),
  );
  const samples = wanted.reduce((sum, { count }) => sum + count, 0);
  let done = 0;
  const rows: RunRecord[] = [];
  for (const { domain, part, count } of wanted) {
    const pause = (here: number): Promise<void> | undefined => options.pause?.(done + here, samples);
    const { accuracy, loss } = await measure({ ...options, pause }, domain, part);
    done += count;
    rows.push({ step, model, domain, split: part, metric: ACCURACY, value: accuracy });
    rows.push({ step, model, domain, split: part, metric: "loss", value: loss });
  }
  return rows;
}

async function measure(
  { loader, predict, step, pause }: Omit<EvaluateOptions, "pause"> & { pause(done: number): Promise<void> | undefined },
  domain: string,
  part: SplitName,
): Promise<{ accuracy: number; loss: number }> {
  let count = 0;
  using kept = new Scope(); // read at the end, because on a GPU every read makes the host wait
  const sums: [correct: Tensor, loss: Tensor][] = [];
  for await (const batch of loader.evaluate(domain, part, { step })) {
    using _ = batch;
    const { x, y } = batch;
    kept.run(() => {
      const outcome = scope((): [Tensor, Tensor] => {
        const logits = predict(x, domain, part);
        return [logits.argmax(1).eq(y).sum(), crossEntropy(logits, y, { reduction: "sum" })];
      });
      sums.push(outcome);
    });
    count += x.rows;
    await pause(count);
  }
  let [correct, loss] = [0, 0];
  for (const [right, sum] of sums) {
    correct += right.item();
    loss += sum.item();
  }
  return { accuracy: correct / count, loss: loss / count };
}

/** Returns the mean of a metric over the `out` splits of some domains, which selection and SWAD use. */
export function validationMean(rows: readonly RunRecord[], metric: string, domains: readonly string[]): number {
  const values = rows
    .filter((row) => row.metric === metric && row.split === "out" && domains.includes(row.domain ?? ""))
    .map(({ value }) => value);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
