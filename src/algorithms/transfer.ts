/**
 * Transfer: features on which no head near the classifier serves one domain much better than another. An adversarial head
 * w', kept within a distance δ of the classifier w, makes the gap between the domains' losses as large as it can (the paper's
 * algorithm 1):
 *
 *     min over φ, w of  CE(w(z), y) + λ·max over ‖w' − w‖ ≤ δ of [max_e ℓ_e(w') − min_e ℓ_e(w')].
 *
 * Each update: (a) a step on the cross-entropy; (b) a step on λ times the gap, with the same optimizer; (c) w' ← w; (d) `adversarySteps`
 * steps of SGD that make the gap larger, w' brought back within δ after each. A penalty counts in (a).
 *
 * Public code, and its switches:
 * - `headMomentum`: in (b) the loss does not depend on w. DomainBed's PyTorch fills its gradient with zeros, so Adam moves w on by its moments
 *   (and weight decay); with `headMomentum=false` w stays where it is.
 * - `gda`, which random draws always set, trains with SGD. In DomainBed its parameters are those of w' by a slip, so that backbone and
 *   classifier never change (`gdaParameters=adversary`). The default `network` is what is meant.
 *
 * Saved against the reference: the features are computed once for all steps of (d), in which the backbone does not move; with
 * batch norm that is trained its running statistics then move once and not at every step.
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
    /** How far the adversarial head may be from the classifier. */
    delta: hparam(2, uniform(0.1, 3), { reference: "delta" }),
    adversarySteps: hparam(10, choice([1, 2, 5]), { reference: "d_steps_per_g" }),
    adversaryLr: hparam(1e-3, powerOfTen(-4.5, -2.5), { reference: "lr_d" }),
    /** Whether SGD trains backbone and classifier, and not Adam. */
    gda: hparam(false, choice([true]), { reference: "gda" }),
    gdaParameters: variant(TRAINED),
    headMomentum: variant([true, false]),
  },

  build({ backbone, classifier, classes, makeClassifier, adam, hparams }) {
    const { lambda, delta, adversarySteps, adversaryLr, gda, lr, headMomentum } = hparams;
    const stands = gda && variantOf("gdaParameters of Transfer", hparams.gdaParameters, TRAINED) === "adversary";
    const adversary = makeClassifier(backbone.width, classes);
    const own = [...backbone.parameters(), ...classifier.parameters()];
    const main: Optimizer = gda ? new SGD(own, { lr }) : adam(own);
    const against = new SGD(adversary.parameters(), { lr: adversaryLr });
    const pairs = adversary.parameters().map((mine, i) => ({ mine, centre: classifier.parameters()[i] }));

    const gapOf = (features: Tensor, batch: Batch): Tensor =>
      lossGap(lossByDomain(adversary.forward(features), batch)).mul(lambda);

    function stepMain(loss: Tensor): void {
      if (stands) return;
      main.zeroGrad();
      loss.backward();
      if (headMomentum)
        for (const parameter of classifier.parameters()) parameter.grad ??= parameter.detach().zerosLike();
      main.step();
    }

    /** w' ← w */
    function follow(): void {
      noGrad(() => {
        for (const { mine, centre } of pairs) mine.copy_(centre);
      });
    }

    /** Back to within δ of the classifier, along the line between them. */
    function project(): void {
      const squares = pairs.map(({ mine, centre }) => mine.sub(centre).square().sum());
      const distance = squares.reduce((sum, each) => sum.add(each)).sqrt();
      const isOutside = distance.gt(delta);
      for (const { mine, centre } of pairs) {
        const nearer = centre.add(mine.sub(centre).mul(distance.reciprocal().mul(delta)));
        mine.copy_(nearer.where(isOutside, mine));
      }
    }

    return {
      modules: { backbone, classifier, adversary },
      optimizers: { main, adversary: against },
      update(batch, ctx) {
        if (ctx.schedule((step) => step === 0)) follow();
        const loss = scope(() => {
          const joint = penalisedCrossEntropy({ backbone, classifier }, batch, ctx);
          stepMain(joint);
          return joint.detach();
        });
        scope(() => stepMain(ctx.checked(gapOf(featuresByDomain(backbone, batch).features, batch))));
        follow();
        const features = noGrad(() => featuresByDomain(backbone, batch).features);
        let gap = zeros([], { dtype: features.dtype, device: features.device });
        for (let i = 0; i < adversarySteps; i++) {
          gap = gapOf(features, batch);
          against.zeroGrad();
          gap.neg().backward();
          against.step();
          noGrad(project);
        }
        return { loss, gap };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** The largest of the losses [domains] less the smallest; of equal ones the first gets the gradient. */
export function lossGap(losses: Tensor): Tensor {
  const fixed = losses.detach();
  const one = (index: Tensor): Tensor => losses.take(index.view(1)).sum();
  return one(fixed.argmax()).sub(one(fixed.neg().argmax()));
}
