/** An algorithm with nothing to learn: features are the inputs and logits the features, for formulas checked by hand. */

import type {
  AlgorithmDefinition,
  Batch,
  LossAlgorithm,
  StepContext,
  StepOutcome,
} from "../../src/algorithms/algorithm.js";
import { type Draws, keyedDraws } from "../../src/algorithms/draws.js";
import { Backbone } from "../../src/backbones/index.js";
import { cat } from "../../src/engine/ops.generated.js";
import { Random } from "../../src/engine/random.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
import type { HparamValue } from "../../src/hparams.js";
import { Adam } from "../../src/optim/index.js";

class Identity extends Backbone {
  constructor(readonly width: number) {
    super();
  }

  get inputShape(): readonly number[] {
    return [this.width];
  }

  forward(x: Tensor): Tensor {
    return x;
  }
}

export interface BareStep {
  algorithm: AlgorithmDefinition;
  /** Of each domain: logits a sample, and the samples' classes. */
  domains: readonly { logits: number[][]; y: number[] }[];
  hparams?: Record<string, HparamValue>;
  step?: number;
  draw?: Draws;
}

/** What one step returns, in float64. Run it in a scope. */
export function bareStep({ algorithm, domains, hparams = {}, step = 0, draw }: BareStep): StepOutcome {
  const minibatches = domains.map(({ logits, y }) => ({
    x: tensor(logits, { dtype: "float64" }),
    y: tensor(y, { dtype: "int64" }),
  }));
  const batch: Batch = {
    domains: minibatches,
    x: cat(minibatches.map(({ x }) => x)),
    y: cat(minibatches.map(({ y }) => y)),
  };
  const identity = new Identity(batch.x.size(1));
  const defaults = Object.fromEntries(Object.entries(algorithm.hparams).map(([name, each]) => [name, each.default]));
  const built = algorithm.build({
    backbone: identity,
    classifier: identity,
    classes: identity.width,
    domains: domains.length,
    hparams: { ...defaults, ...hparams, lr: 1e-3, weightDecay: 0, batchSize: batch.x.rows, classBalanced: false },
    copyBackbone: () => identity,
    makeClassifier: () => identity,
    adam: (parameters, settings) => new Adam(parameters, settings),
  }) as LossAlgorithm;
  for (const module of Object.values(built.modules)) module.to({ dtype: "float64" });
  const draws = draw ?? keyedDraws(new Random(0));
  const ctx: StepContext = {
    step,
    schedule: (at) => at(step),
    draw: draws,
    prepared: (shape, compute) =>
      tensor(Float64Array.from(compute({ draw: draws, labels: batch.y.toNumbers() })), { shape }),
    penalty: () => null,
    checked: (loss) => loss,
  };
  try {
    return built.step(batch, ctx);
  } finally {
    for (const module of Object.values(built.modules)) module.dispose();
  }
}

/** Logits of two classes whose cross-entropy with class 0 is as given. */
export const logitsWithLoss = (loss: number): number[] => [-Math.log(Math.expm1(loss)), 0];
