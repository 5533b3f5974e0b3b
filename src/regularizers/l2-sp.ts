/**
 * L2-SP: stay near the weights that training starts from, where weight decay pulls towards 0. With θ the backbone's parameters, θ⁰
 * their start and w the classifier's,
 *
 *     Ω = (α/2)·‖θ − θ⁰‖² + (β/2)·‖w‖²,   α = `weight`, β = `headWeight`.
 *
 * It stands in the place of weight decay: leave `weightDecay` at 0. The scale and parameters of batch norms belong to θ, running
 * statistics do not. As every penalty it is part of the loss, so Adam divides its gradient by the size of all of them together. Public code
 * differs in the ½: LP-FT's has none, so its 0.01 is 0.02 here. Of an algorithm with two backbones only the first is held.
 */

import type { Tensor } from "../engine/tensor.js";
import { noGrad } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { choice, hparam, powerOfTen } from "../hparams.js";
import { defineRegularizer } from "./regularizer.js";

/** Half the squared distance of the backbone from its start, and of the classifier from 0. */
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
    const away = backbone.map(({ now, start }) =>
      halfSquare(
        now,
        noGrad(() => now.sub(start)),
      ),
    );
    const heads = head.map((now) => halfSquare(now, now.detach()).mul(headWeight / weight));
    return [...away, ...heads].reduce((sum, each) => sum.add(each));
  },
});

/** ½‖d‖² with the gradient d; the graph needs no more of it than the product with a constant. */
function halfSquare(now: Tensor, away: Tensor): Tensor {
  const product = now.mul(away).sum();
  return product.add(noGrad(() => away.square().sum().div(2).sub(product)));
}
