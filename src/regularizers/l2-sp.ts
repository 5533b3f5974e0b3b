/**
 * L2-SP penalizes the distance to the initial weights, where weight decay penalizes the distance to 0. With θ the
 * backbone's parameters, θ⁰ their initial values and w the classifier's parameters,
 *
 *     Ω = (α/2)·‖θ − θ⁰‖² + (β/2)·‖w‖²,   α = `weight`, β = `headWeight`.
 *
 * It replaces weight decay, so leave `weightDecay` at 0. θ includes the weight and bias of batch norms, but not their
 * running statistics. Like every penalty it is part of the loss, so Adam normalizes its gradient together with the
 * rest. Public implementations differ in the factor ½: LP-FT's has none, so its 0.01 corresponds to 0.02 here. If an
 * algorithm has two backbones, only the first one is penalized.
 */

import type { Tensor } from "../engine/tensor.js";
import { noGrad } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { choice, hparam, powerOfTen } from "../hparams.js";
import { defineRegularizer } from "./regularizer.js";

/** Half the squared distance of the backbone from its initial weights, plus half the squared norm of the classifier. */
export const l2Sp = defineRegularizer({
  id: "l2-sp",
  title: "L2-SP",
  paper:
    "Li, Grandvalet & Davoine, Explicit Inductive Bias for Transfer Learning with Convolutional Networks, ICML 2018, https://arxiv.org/abs/1802.01483",
  hparams: {
    weight: hparam(0.1, powerOfTen(-3, 0)),
    headWeight: hparam(0.01, choice([0.01])),
  },

  penalty({ weights, settings: { weight, headWeight } }) {
    if (!weights) throw new UsageError("l2-sp needs the weights of a run; it cannot be taken of features alone");
    const { backbone, head } = weights();
    const backboneTerms = backbone.map(({ now, start }) =>
      halfSquare(
        now,
        noGrad(() => now.sub(start)),
      ),
    );
    const headTerms = head.map((now) => halfSquare(now, now.detach()).mul(headWeight / weight));
    return [...backboneTerms, ...headTerms].reduce((sum, each) => sum.add(each));
  },
});

/** Returns ½‖d‖² with gradient d. The autograd graph only contains a product with a constant. */
function halfSquare(now: Tensor, displacement: Tensor): Tensor {
  const product = now.mul(displacement).sum();
  return product.add(noGrad(() => displacement.square().sum().div(2).sub(product)));
}
