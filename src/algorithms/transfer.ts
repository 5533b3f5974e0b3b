/**
 * Transfer learns features for which no head near the classifier is much better on one domain than on another. An
 * adversarial head w', kept within a distance δ of the classifier w, maximizes the gap between the domains' losses
 * (Algorithm 1 of the paper):
 *
 *     min over φ, w of  CE(w(z), y) + λ·max over ‖w' − w‖ ≤ δ of [max_e ℓ_e(w') − min_e ℓ_e(w')].
 *
 * Each update consists of (a) a step on the cross-entropy; (b) a step on λ times the gap, with the same optimizer; (c)
 * w' ← w; (d) `adversarySteps` steps of SGD that increase the gap, each followed by a projection of w' to within δ.
 * Penalties are part of (a).
 *
 * Behaviour of public code, and its settings:
 *
 * - `headMomentum`: in (b) the loss does not depend on w. DomainBed's PyTorch fills its gradient with zeros, so Adam's
 *   moments   (and weight decay) still change w. With `headMomentum=false`, w stays unchanged.
 * - `gda`, which random draws always set, trains with SGD. In DomainBed its parameters are those of w' by mistake, so
 *   backbone   and classifier never change (`gdaParameters=adversary`). The default, `network`, is the intended
 *   behaviour.
 *
 * Unlike the reference, the features are computed once for all steps of (d), in which the backbone does not change. If
 * batch norm is trained, its running statistics are then updated once instead of at every step.
 */

import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam, powerOfTen, uniform, variant } from "../hparams.js";
import { type Optimizer, SGD } from "../optim/index.js";
import { type Batch, defineAlgorithm } from "./algorithm.js";
import { featuresByDomain, lossByDomain } from "./domain-parts.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";
import { variantOf } from "./variant.js";

const TRAINED = ["network", "adversary"] as const;

export const transfer = defineAlgorithm({
  id: "transfer",
  title: "Transfer",
  paper:
    "Zhang, Zhao, Yu & Poupart, Quantifying and Improving Transferability in Domain Generalization, NeurIPS 2021, https://arxiv.org/abs/2106.03632",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    lambda: hparam(1, powerOfTen(-2, 1), { reference: "t_lambda" }),
    /** The maximum distance of the adversarial head from the classifier. */
    delta: hparam(2, uniform(0.1, 3), { reference: "delta" }),
    adversarySteps: hparam(10, choice([1, 2, 5]), { reference: "d_steps_per_g" }),
    adversaryLr: hparam(1e-3, powerOfTen(-4.5, -2.5), { reference: "lr_d" }),
    /** Whether SGD instead of Adam trains the backbone and the classifier. */
    gda: hparam(false, choice([true]), { reference: "gda" }),
    gdaParameters: variant(TRAINED),
    headMomentum: variant([true, false]),
  },

  build({ backbone, classifier, classes, makeClassifier, adam, hparams }) {
    const { lambda, delta, adversarySteps, adversaryLr, gda, lr, headMomentum } = hparams;
    const isFrozen = gda && variantOf("gdaParameters of Transfer", hparams.gdaParameters, TRAINED) === "adversary";
    const adversary = makeClassifier(backbone.width, classes);
    const own = [...backbone.parameters(), ...classifier.parameters()];
    const main: Optimizer = gda ? new SGD(own, { lr }) : adam(own);
    const adversaryOptimizer = new SGD(adversary.parameters(), { lr: adversaryLr });
    const pairs = adversary.parameters().map((adversarial, i) => ({ adversarial, centre: classifier.parameters()[i] }));

    const gapOf = (features: Tensor, batch: Batch): Tensor =>
      lossGap(lossByDomain(adversary.forward(features), batch)).mul(lambda);

    function stepMain(loss: Tensor): void {
      if (isFrozen) return;
      for (const optimizer of [main, adversaryOptimizer]) optimizer.zeroGrad(); // the gap depends on the adversary too
      loss.backward();
      if (headMomentum)
        for (const parameter of classifier.parameters()) parameter.grad ??= parameter.detach().zerosLike();
      main.step();
    }

    /** w' ← w */
    function resetAdversary(): void {
      noGrad(() => {
        for (const { adversarial, centre } of pairs) adversarial.copy_(centre);
      });
    }

    /** Projects the adversarial head to within δ of the classifier. */
    function project(): void {
      const squares = pairs.map(({ adversarial, centre }) => adversarial.sub(centre).square().sum());
      const distance = squares.reduce((sum, each) => sum.add(each)).sqrt();
      const isOutside = distance.gt(delta);
      for (const { adversarial, centre } of pairs) {
        const nearer = centre.add(adversarial.sub(centre).mul(distance.reciprocal().mul(delta)));
        adversarial.copy_(nearer.where(isOutside, adversarial));
      }
    }

    return {
      modules: { backbone, classifier, adversary },
      optimizers: { main, adversary: adversaryOptimizer },
      update(batch, ctx) {
        if (ctx.schedule((step) => step === 0)) resetAdversary();
        const loss = scope(() => {
          const joint = penalisedCrossEntropy({ backbone, classifier }, batch, ctx);
          stepMain(joint);
          return joint.detach();
        });
        scope(() => stepMain(ctx.checked(gapOf(featuresByDomain(backbone, batch).features, batch))));
        resetAdversary();
        const features = noGrad(() => featuresByDomain(backbone, batch).features);
        let gap = zeros([], { dtype: features.dtype, device: features.device });
        for (let i = 0; i < adversarySteps; i++) {
          gap = gapOf(features, batch);
          adversaryOptimizer.zeroGrad();
          gap.neg().backward();
          adversaryOptimizer.step();
          noGrad(project);
        }
        return { loss, gap };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/**
 * Returns the largest loss minus the smallest, from losses [domains]. If several are equal, the first gets the
 * gradient.
 */
export function lossGap(losses: Tensor): Tensor {
  const fixed = losses.detach();
  const one = (index: Tensor): Tensor => losses.take(index.view(1)).sum();
  return one(fixed.argmax()).sub(one(fixed.neg().argmax()));
}
