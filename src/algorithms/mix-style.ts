/**
 * MixStyle: the channel means and standard deviations of a feature map carry the style of a picture, so mixing them
 * between pictures creates new styles, and thus new domains, in feature space. In training, after some stages and each
 * time with probability 1/2:
 *
 *     x ← σ'·(x − μ)/σ + μ',   μ' = λμ + (1 − λ)μ_π,   σ' = λσ + (1 − λ)σ_π,   λ ~ Beta(0.1, 0.1) for each sample
 *
 * No gradient flows through the statistics. It is applied after stages 1 to 3 (layer1 to layer3 of a ResNet), but never
 * after the last stage of a smaller network: there the statistics depend on the class, and mixing them hurts (see the
 * paper's analysis of where to apply it).
 *
 * There are two public variants (`mixing`), both in SWAD's code, from which the published domain generalization numbers
 * come. It does not say which one was used:
 *
 * - `random`: styles are mixed within the whole batch in a random order, and the loss is that of ERM. It needs no
 *   domain   labels and is the default for that reason.
 * - `cross-domain`: each forward pass combines half of a domain's samples with half of the next domain's, and mixes
 *   styles   across the two halves. The loss is the mean over the passes. Together the passes contain every sample
 *   once, so the   penalties apply to the rows of all passes together.
 */

import { cat, stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { variant } from "../hparams.js";
import { crossEntropy, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm, type Minibatch, type StepContext } from "./algorithm.js";
import type { Draws } from "./draws.js";
import { variantOf } from "./variant.js";

const PROBABILITY = 0.5;
const ALPHA = 0.1;
const EPS = 1e-6;
const STAGES = [1, 2, 3];
const MIXINGS = ["random", "cross-domain"] as const;

/** Returns for each sample the index of the sample whose style it receives. */
type OrderOf = (samples: number, draw: Draws) => readonly number[];

export const mixStyle = defineAlgorithm({
  id: "mix-style",
  title: "MixStyle",
  paper: "Zhou et al., Domain Generalization with MixStyle, ICLR 2021, https://arxiv.org/abs/2104.02008",
  needsDomains: false,
  hparams: { mixing: variant(MIXINGS) },
  backbone: { stages: "maps" },

  build({ backbone, classifier, domains: count, hparams }) {
    const mixing = variantOf("mixing of MixStyle", hparams.mixing, MIXINGS);
    if (mixing === "cross-domain" && count < 2) {
      throw new UsageError(`MixStyle with mixing=cross-domain needs at least 2 training domains, got ${count}`);
    }
    const stages = STAGES.slice(0, backbone.stageChannels!.length - 2);
    const forward = (x: Tensor, { prepared }: StepContext, orderOf: OrderOf): Tensor => {
      // For each stage: the λ of each sample, and the index of the sample whose style it receives.
      const mixtures = prepared([stages.length, 2, x.rows], ({ draw }) =>
        stages.flatMap(() => drawMixture(x.rows, draw, orderOf)),
      );
      return backbone.stages!(x, (map, stage) =>
        stages.includes(stage) ? mixStyles(map, mixtures.select(0, stages.indexOf(stage))) : map,
      );
    };

    return {
      modules: { backbone, classifier },
      step({ x, y, domains }, ctx) {
        if (mixing === "random") {
          const features = forward(x, ctx, (n, draw) => draw.permutation("order", n)); // [n, width]
          const logits = classifier.forward(features);
          return { loss: crossEntropy(logits, y), features, logits };
        }
        const passes = domains.map((domain, e) => {
          const samples = halves(domain, domains[(e + 1) % domains.length]);
          const features = forward(samples.x, ctx, acrossHalves);
          const logits = classifier.forward(features);
          return { loss: crossEntropy(logits, samples.y), features, logits, y: samples.y };
        });
        return {
          loss: stack(passes.map(({ loss }) => loss)).mean(),
          features: cat(passes.map(({ features }) => features)),
          logits: cat(passes.map(({ logits }) => logits)),
          labels: { y: cat(passes.map((pass) => pass.y)) },
        };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/**
 * Draws λ of each sample, and the index of the sample whose style it receives. In half of the cases λ is 1 and the
 * index is its own, which leaves the sample unchanged.
 */
function drawMixture(samples: number, draw: Draws, orderOf: OrderOf): number[] {
  const own = Array.from({ length: samples }, (_, i) => i);
  if (draw.uniform("coin") > PROBABILITY) return [...own.map(() => 1), ...own];
  return [...own.map(() => draw.beta("lambda", ALPHA, ALPHA)), ...orderOf(samples, draw)];
}

/** Mixes the styles of a feature map [n, channels, height, width] with λ and the order [2, n]. */
function mixStyles(map: Tensor, mixture: Tensor): Tensor {
  const [n, , height, width] = map.shape;
  if (height * width < 2) {
    throw new UsageError(
      `MixStyle: a map of one position has no deviation, got ${map.describe()}; take larger pictures`,
    );
  }
  const values = toFullPrecision(map);
  const share = mixture.select(0, 0).toDType(values.dtype).view(n, 1, 1, 1);
  const order = mixture.select(0, 1).toDType("int64");
  const blend = (own: Tensor): Tensor => {
    const other = own.take(order);
    return other.add(own.sub(other).mul(share)); // λ·own + (1 − λ)·other
  };
  const fixed = values.detach();
  const mean = fixed.mean([2, 3], true); // [n, channels, 1, 1]
  const deviation = fixed.variance([2, 3], { keepdim: true }).add(EPS).sqrt();
  // Use one factor and one offset per channel, so that there are two passes over the large feature map instead of four.
  const factor = blend(deviation).div(deviation);
  const mixed = values.mul(factor).add(blend(mean).sub(mean.mul(factor)));
  return mixed.dtype === map.dtype ? mixed : mixed.toDType(map.dtype);
}

/** Returns the first half of one domain's samples and the second half of another's, with equal numbers of rows. */
function halves(first: Minibatch, second: Minibatch): Minibatch {
  const rows = Math.min(first.x.rows, second.x.rows) >> 1;
  if (rows === 0) {
    const got = `${first.x.rows} and ${second.x.rows}`;
    throw new UsageError(`MixStyle with mixing=cross-domain needs at least 2 samples of each domain, got ${got}`);
  }
  const join = (a: Tensor, b: Tensor): Tensor => cat([a.narrow(0, 0, rows), b.narrow(0, b.rows - rows, rows)]);
  return { x: join(first.x, second.x), y: join(first.y, second.y) };
}

/** Each half receives styles from the other half in random order: the reversed positions, shuffled within each half. */
function acrossHalves(samples: number, draw: Draws): number[] {
  const half = samples / 2;
  const backwards = Array.from({ length: samples }, (_, i) => samples - 1 - i);
  const shuffled = (part: number[]): number[] => draw.permutation("order", half).map((i) => part[i]);
  return [...shuffled(backwards.slice(0, half)), ...shuffled(backwards.slice(half))];
}
