/**
 * GroupDRO gives more weight to domains with larger losses. Each update multiplies a domain's weight by exp(η·loss),
 * normalizes the weights, and minimizes the weighted sum (online Algorithm 1 of the paper, with each domain as a
 * group):
 *
 *     q_e ← q_e·exp(η·ℓ_e),  q ← q / Σq,  L = Σ_e q_e·ℓ_e.
 *
 * Public variants: DomainBed before January 2021 and SWAD divide L by the number of domains E; DomainBed since then
 * does not. The default is the paper's formula without the division: q already sums to 1, and the relative weight of a
 * penalty is then the same as for every other algorithm. With Adam the two differ only through its ε and weight decay,
 * so the published numbers do not show which is better. `divideByDomains=true` selects the division.
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
    /** The step size of the weights. */
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

/** The weights of the domains, which are equal at first. */
export class DomainWeights extends Module {
  readonly q: StateBuffer; // [domains]

  constructor(domains: number) {
    super();
    this.q = new StateBuffer(ones([domains]));
  }

  /** Updates the weights with the domains' losses [domains] and returns them. No gradient flows through them. */
  follow(losses: Tensor, eta: number): Tensor {
    return noGrad(() => {
      const grown = this.q.mul(losses.mul(eta).exp());
      const q = grown.div(grown.sum());
      this.q.copy_(q);
      return q;
    });
  }
}
