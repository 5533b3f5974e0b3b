/**
 * The first-order meta-gradient of MLDG and mDSDI. For each pair (i, j) of samples:
 *
 *     θ̃ = θ after one step of a new Adam on ℓ_i;     gradient of θ += (∇ℓ_i(θ) + β·∇ℓ_j(θ̃)) / E
 *
 * There are no second derivatives: ∇ℓ_j is computed with respect to θ̃ and used as if it were that of θ. E is the
 * number of domains, whatever the number of pairs.
 */

import { zerosLikeAll } from "../engine/many-tensors.js";
import { _foreachAdd_ } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";
import type { Module } from "../nn/index.js";
import type { BuildContext, Minibatch } from "./algorithm.js";
import { restoreValues, saveValues } from "./saved-values.js";

/** Samples for the inner step, and samples to evaluate the result. */
export type MetaPair = readonly [train: Minibatch, test: Minibatch];

export interface MetaGradientOptions {
  /** The modules to update. Changes of their buffers are undone, as they would be lost with a copy of the network. */
  readonly modules: readonly Module[];
  readonly pairs: readonly MetaPair[];
  /** E. */
  readonly domains: number;
  readonly beta: number;
  readonly adam: BuildContext["adam"];
  loss(samples: Minibatch): Tensor;
}

/** Stores the gradient in `.grad` of every parameter, zero if there is none, and returns Σ(ℓ_i + β·ℓ_j)/E. */
export function metaGradient({ modules, pairs, domains, beta, adam, loss }: MetaGradientOptions): Tensor {
  const parameters = modules.flatMap((module) => module.parameters());
  const before = saveValues(modules);
  const sums = zerosLikeAll(parameters);

  /** Adds the loss's gradient times `share`, and leaves the full gradient in `.grad`. */
  const addGradient = (samples: Minibatch, share: number): Tensor => {
    const value = loss(samples);
    const gradients = grad(value, parameters, { allowUnused: true });
    const used = parameters.flatMap((_, i) => (gradients[i] ? [{ sum: sums[i], gradient: gradients[i] }] : []));
    noGrad(() =>
      _foreachAdd_(
        used.map(({ sum }) => sum),
        used.map(({ gradient }) => gradient),
        { alpha: share },
      ),
    );
    for (const [i, parameter] of parameters.entries()) parameter.grad = gradients[i];
    return value.detach().mul(share);
  };

  const losses = pairs.map(([train, test]) =>
    scope(() => {
      const first = addGradient(train, 1 / domains);
      using inner = adam(parameters);
      try {
        inner.step();
        return first.add(addGradient(test, beta / domains));
      } finally {
        restoreValues(before);
      }
    }),
  );
  for (const [i, parameter] of parameters.entries()) parameter.grad = sums[i];
  return losses.reduce((sum, each) => sum.add(each));
}

/** Truncates both to the number of samples of the shorter one. */
export function toSameLength([a, b]: MetaPair): MetaPair {
  const rows = Math.min(a.x.rows, b.x.rows);
  const cut = ({ x, y }: Minibatch): Minibatch => ({ x: x.narrow(0, 0, rows), y: y.narrow(0, 0, rows) });
  return [cut(a), cut(b)];
}
