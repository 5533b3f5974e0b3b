/**
 * SelfReg pulls samples of the same class together, in logits and in features, without negative pairs. Each sample i
 * gets two random partners a, b of its class. With one λ ~ Beta(½, ½) per update and a projector q,
 *
 *     l₂ = l[a], l₃ = λ·l[a] + (1 − λ)·l[b],  p₂ and p₃ likewise of p = q(z),
 *     L = CE + min(CE, 1)·( λ·(MSE(l, l₂) + 0.3·MSE(z, p₂)) + (1 − λ)·(MSE(l, l₃) + 0.3·MSE(z, p₃)) ),
 *
 * where no gradient flows through the factor min(CE, 1). Unprojected features are compared with projected partners.
 *
 * Public variants: in DomainBed and in the authors' DomainBed code the optimizer is created before the projector, so
 * the projector is never trained (only the running statistics of its batch norm change). The published DomainBed
 * numbers were computed in this way, so it is the default. `trainProjector=true` trains it, as the paper describes. The
 * authors' stand-alone method adds weight averaging and a curriculum over domains, which are not part of those numbers
 * and not implemented here.
 */

import type { Tensor } from "../engine/tensor.js";
import { variant } from "../hparams.js";
import { BatchNorm1d, crossEntropy, Linear, mse, ReLU, Sequential, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import type { Draws } from "./draws.js";

const FEATURE_WEIGHT = 0.3;

export const selfReg = defineAlgorithm({
  id: "self-reg",
  title: "SelfReg",
  paper:
    "Kim, Yoo, Park, Kim & Lee, SelfReg: Self-supervised Contrastive Regularization for Domain Generalization, ICCV 2021, https://arxiv.org/abs/2104.09841",
  needsDomains: false,
  hparams: { trainProjector: variant([false, true]) },

  build({ backbone, classifier, hparams: { trainProjector } }) {
    const projector = makeProjector(backbone.width);
    const trained = trainProjector ? [backbone, classifier, projector] : [backbone, classifier];
    if (!trainProjector) for (const parameter of projector.parameters()) parameter.requiresGrad_(false);
    return {
      modules: { backbone, classifier, projector },
      parameters: trained.flatMap((module) => module.parameters()),
      step({ x, y }, { prepared }) {
        const features = backbone.forward(x);
        const projected = projector.forward(features);
        const logits = classifier.forward(features);
        const drawn = prepared([2 * x.rows + 2], (host) => {
          const [first, second] = partners(host.labels, host.draw);
          const share = host.draw.beta("lambda", 0.5, 0.5);
          return [...first, ...second, share, 1 - share];
        });
        const [a, b] = [0, x.rows].map((start) => drawn.narrow(0, start, x.rows).toDType("int64"));
        const distances = (own: Tensor, of: Tensor): Tensor => {
          const [first, second] = [a, b].map((order) => toFullPrecision(of.take(order)));
          const [lambda, rest] = [0, 1].map((i) => drawn.select(0, 2 * x.rows + i).toDType(first.dtype));
          const blend = first.mul(lambda).addcmul(second, rest); // λ·l[a] + (1 − λ)·l[b]
          return mse(own, first).mul(lambda).addcmul(mse(own, blend), rest);
        };
        const error = crossEntropy(logits, y);
        const apart = distances(logits, logits).add(distances(features, projected), { alpha: FEATURE_WEIGHT });
        return { loss: error.add(error.detach().clamp(null, 1).mul(apart)), features, logits };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

function makeProjector(width: number): Sequential {
  const hidden = width === 2048 ? width : 2 * width; // the widths in DomainBed
  return new Sequential(
    new Linear(width, hidden),
    new BatchNorm1d(hidden),
    new ReLU(),
    new Linear(hidden, hidden),
    new BatchNorm1d(hidden),
    new ReLU(),
    new Linear(hidden, width),
    new BatchNorm1d(width),
  );
}

/**
 * Returns two samples of the same class for each sample, from two random orders of the class. Classes are in ascending
 * order.
 */
export function partners(labels: readonly number[], draw: Draws): [number[], number[]] {
  const classes = [...new Set(labels)].sort((a, b) => a - b);
  const [first, second] = [labels.slice(), labels.slice()];
  for (const label of classes) {
    const members = [...labels.keys()].filter((i) => labels[i] === label);
    const orders = [
      draw.permutation("first partner", members.length),
      draw.permutation("second partner", members.length),
    ];
    for (const [k, i] of members.entries()) [first[i], second[i]] = orders.map((order) => members[order[k]]);
  }
  return [first, second];
}
