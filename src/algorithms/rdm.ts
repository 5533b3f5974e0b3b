/**
 * RDM (risk distribution matching) matches the distributions of per-sample losses across domains. It compares the
 * domain with the largest mean loss, e*, with all domains together:
 *
 *     L = mean_e mean(ρ_e) + λ·MMD²(ρ_e*, ρ) + ν·(Var(ρ) + Var(ρ_e*)),
 *
 * where ρ are the losses of all samples as points on a line, with eight Gaussian kernels (mmd.ts), and variances are
 * divided by n − 1. As in DomainBed, λ and ν are 0 for the first `annealSteps` updates. Then Adam is replaced by a new
 * one with the learning rate `matchingLr`, also on small pictures. The batches are large: 88 samples per domain by
 * default.
 */

import { UsageError } from "../errors.js";
import { choice, hparam, uniform, uniformInteger } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { discrepancy } from "./mmd.js";

const RATES = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000];

const lambda = (value: number, from: number, to: number) =>
  hparam(value, uniform(from, to), { reference: "rdm_lambda" });
const noVariance = { varianceWeight: hparam(0, choice([0]), { reference: "variance_weight" }) };
const batchSize = (value: number, from: number, to: number) => ({
  batchSize: hparam(value, uniformInteger(from, to), { reference: "batch_size" }),
});

export const rdm = defineAlgorithm({
  id: "rdm",
  title: "RDM",
  paper:
    "Nguyen, Do, Duong & Nguyen, Domain Generalisation via Risk Distribution Matching, WACV 2024, https://arxiv.org/abs/2310.18598",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    matchingWeight: lambda(5, 0.1, 10),
    annealSteps: hparam(1500, uniformInteger(800, 2700), { reference: "rdm_penalty_anneal_iters" }),
    varianceWeight: hparam(0.004, uniform(0.001, 0.007), { reference: "variance_weight" }),
    /** The learning rate from `annealSteps` on. */
    matchingLr: hparam(1.5e-5, uniform(8e-6, 2e-5), { reference: "rdm_lr" }),
  },
  hparamsByDataset: {
    pacs: { matchingWeight: lambda(5, 1, 10) },
    "terra-incognita": { matchingWeight: lambda(5, 1, 10), ...noVariance },
    "office-home": noVariance,
    "domain-net": {
      matchingWeight: lambda(0.5, 0.1, 1),
      annealSteps: hparam(2400, uniformInteger(1500, 3000), { reference: "rdm_penalty_anneal_iters" }),
      ...noVariance,
    },
  },
  overrides: {
    large: batchSize(88, 70, 100),
    datasets: { "domain-net": batchSize(40, 30, 60), "terra-incognita": batchSize(40, 30, 60) },
  },

  build: ({ backbone, classifier, hparams: { matchingWeight, annealSteps, varianceWeight, matchingLr } }) => ({
    modules: { backbone, classifier },
    step({ x, y, domains }, { schedule }) {
      const n = domains[0].y.rows;
      if (n < 2 || domains.some((domain) => domain.y.rows !== n))
        throw new UsageError(
          `RDM compares the losses of equally many samples of each domain, at least 2: got ${domains.map((domain) => domain.y.rows).join(", ")}`,
        );
      const features = backbone.forward(x);
      const logits = classifier.forward(features);
      const losses = crossEntropy(logits, y, { reduction: "none" }).view(domains.length, n);
      const means = losses.mean(1);
      const erm = means.mean();
      const worst = losses.take(means.detach().argmax(0, true)).flatten(); // [n]
      const all = losses.flatten(); // [domains · n]
      const matching = discrepancy(worst.unsqueeze(1), all.unsqueeze(1), RATES);
      const variance = all.variance(0).add(worst.variance(0));
      const isOn = schedule((step) => step >= annealSteps);
      const loss = isOn ? erm.add(matching, { alpha: matchingWeight }).add(variance, { alpha: varianceWeight }) : erm;
      return {
        loss,
        features,
        logits,
        logs: { erm_loss: erm, matching_penalty: matching, variance_penalty: variance },
        resetOptimizer: schedule((step) => step === annealSteps) && { lr: matchingLr },
      };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
