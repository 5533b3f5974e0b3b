/**
 * GroupDRO: domains with larger losses weigh more. Each update multiplies a domain's weight by exp(η·loss), brings the
 * weights back to the sum 1, and minimises the weighted sum (online algorithm 1 of the paper, each domain a group):
 *
 *     q_e ← q_e·exp(η·ℓ_e),  q ← q / Σq,  L = Σ_e q_e·ℓ_e.
 *
 * Public variants: DomainBed before January 2021 and SWAD divide L by the number of domains E, DomainBed since does not. The
 * default is the paper's formula, without the division: q sums to 1 already, and a penalty then weighs against the loss as it
 * does for every other algorithm. With Adam the two differ only by way of its ε and weight decay, so the published numbers
 * speak for neither. `divideByDomains=true` selects the other.
 */

import { ones } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen, variant } from "../hparams.js";
import { Module, StateBuffer } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { featuresByDomain, lossByDomain } from "./domain-parts.js";

export const groupDro = defineAlgorithm({
  id: "group-dro",
  title: "GroupDRO",
  paper:
    "Sagawa, Koh, Hashimoto & Liang, Distributionally Robust Neural Networks for Group Shifts, ICLR 2020, https://arxiv.org/abs/1911.08731",
  needsDomains: true,
  hparams: {
    /** How fast the weights follow the losses. */
    eta: hparam(1e-2, powerOfTen(-3, -1), { reference: "groupdro_eta" }),
    divideByDomains: variant([false, true]),
  },

  build({ backbone, classifier, domains, hparams: { eta, divideByDomains } }) {
    const weights = new DomainWeights(domains);
    return {
      modules: { backbone, classifier, weights },
      step(batch) {
        const { features } = featuresByDomain(backbone, batch);
        const logits = classifier.forward(features);
        const losses = lossByDomain(logits, batch);
        const loss = weights.follow(losses, eta).mul(losses).sum();
        return { loss: divideByDomains ? loss.div(domains) : loss, features, logits };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** The weights of the domains; equal at first. */
export class DomainWeights extends Module {
  readonly q: StateBuffer; // [domains]

  constructor(domains: number) {
    super();
    this.q = new StateBuffer(ones([domains]));
  }

  /** The weights after the domains' losses [domains] are known; no gradient goes through them. */
  follow(losses: Tensor, eta: number): Tensor {
    return noGrad(() => {
      const grown = this.q.mul(losses.mul(eta).exp());
      const q = grown.div(grown.sum());
      this.q.copy_(q);
      return q;
    });
  }
}
