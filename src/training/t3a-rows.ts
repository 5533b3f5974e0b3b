/**
 * T3A in a run (`t3a=20`). At every evaluation, a classifier that adapts to the pictures predicts each part of a domain
 * again, with separate supports. The rows have the model name `t3a`, and those of an average, `t3a+swad`. Pictures are in the
 * order of the split, which is shuffled, as in DomainBed.
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Supports } from "../model/t3a.js";
import { Linear } from "../nn/index.js";
import type { Learner } from "./learner.js";
import { plainPair } from "./model-file.js";

/** The model name of the rows. */
export const T3A = "t3a";

/** Throws an error if a run's predictions are not one linear layer on the features. */
export function checkT3a(
  learner: Learner,
  sample: Tensor,
  { title, precision }: { title: string; precision: Parameters<typeof plainPair>[2] },
): void {
  const pair = plainPair(learner, sample, precision);
  if (pair?.classifier instanceof Linear) return;
  throw new UsageError(
    `t3a: T3A adapts a linear classifier on the features, but ${title} predicts in another way, for example from the batch or with a nonlinear classifier; remove t3a`,
  );
}

/** Predictions that adapt to each part of a domain separately. */
export class AdaptedPredictions implements Disposable {
  private part = "";
  private supports: Supports | undefined;

  constructor(
    private readonly learner: Learner,
    private readonly most: number,
  ) {}

  /** Returns the scores of a batch. A new part starts from the original classifier. */
  predict(x: Tensor, domain: string, part: string): Tensor {
    const name = `${part} of ${domain}`;
    if (name !== this.part || !this.supports) {
      this[Symbol.dispose]();
      this.part = name;
      this.supports = new Supports(this.learner.modules.classifier as Linear, this.most);
    }
    return this.supports.scores(this.learner.features(x)!.toDType("float32"));
  }

  [Symbol.dispose](): void {
    this.supports?.[Symbol.dispose]();
    this.supports = undefined;
  }
}
