/**
 * MLDG: an update on some domains should also improve the others. It takes a step on one domain, evaluates the result
 * on another, and uses both gradients (Algorithm 1 of the paper, to first order; meta-gradient.ts).
 *
 * Public variants of the pairs (`pairing`):
 *
 * - `cyclic`: in a random order, each domain is evaluated on the next: E pairs. DomainBed until April 2022 and SWAD.
 *   This is   the default: the published numbers were computed with it, every update trains on every domain, and two
 *   domains are   enough.
 * - `meta-test`: `nMetaTest` random domains are only used for evaluation, and the others are paired with them in turn,
 *   as in   the paper and in DomainBed since then. If all domains are meta-test domains there is no pair. DomainBed
 *   then trains   nothing without a message; here it is an error.
 */

import { UsageError } from "../errors.js";
import { choice, hparam, powerOfTen, variant } from "../hparams.js";
import { defineAlgorithm, type Minibatch } from "./algorithm.js";
import { cyclicPairs, inRandomOrder } from "./cyclic-pairs.js";
import { type MetaPair, metaGradient, toSameLength } from "./meta-gradient.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";
import { variantOf } from "./variant.js";

const PAIRINGS = ["cyclic", "meta-test"] as const;

export const mldg = defineAlgorithm({
  id: "mldg",
  title: "MLDG",
  paper:
    "Li et al., Learning to Generalize: Meta-Learning for Domain Generalization, AAAI 2018, https://arxiv.org/abs/1710.03463",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    beta: hparam(1, powerOfTen(-1, 1), { reference: "mldg_beta" }),
    nMetaTest: hparam(2, choice([1, 2]), { reference: "n_meta_test" }),
    pairing: variant(PAIRINGS),
  },

  build({ backbone, classifier, domains: count, hparams: { beta, nMetaTest, pairing }, adam }) {
    const cyclic = variantOf("pairing of MLDG", pairing, PAIRINGS) === "cyclic";
    if (!cyclic && !(Number.isInteger(nMetaTest) && nMetaTest >= 1 && nMetaTest < count)) {
      throw new UsageError(
        `MLDG with pairing=meta-test needs from 1 to ${count - 1} meta-test domains when it trains on ${count}, got ` +
          `nMetaTest=${nMetaTest}. Set nMetaTest, or pairing=cyclic`,
      );
    }
    const modules = { backbone, classifier };
    const main = adam([...backbone.parameters(), ...classifier.parameters()]);
    return {
      modules,
      optimizers: { main },
      update(batch, ctx) {
        const domains = inRandomOrder(batch, ctx.draw);
        const pairs = cyclic ? cyclicPairs(domains) : metaTestPairs(domains, nMetaTest);
        const loss = metaGradient({
          modules: [backbone, classifier],
          pairs: pairs.map(toSameLength),
          domains: domains.length,
          beta,
          adam,
          loss: (samples) => penalisedCrossEntropy(modules, samples, ctx),
        });
        main.step();
        return { loss };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Uses the last `tests` domains for evaluation, and pairs the other domains with them in turn. */
function metaTestPairs(domains: readonly Minibatch[], tests: number): MetaPair[] {
  const cut = domains.length - tests;
  return domains.slice(0, cut).map((train, i) => [train, domains[cut + (i % tests)]]);
}
