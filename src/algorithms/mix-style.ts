/**
 * MixStyle: the mean and deviation of a map's channels carry the style of a picture, so mixing them between pictures makes
 * new styles, and new domains, in feature space. In training, after some stages and each time with probability 1/2:
 *
 *     x ← σ'·(x − μ)/σ + μ',   μ' = λμ + (1 − λ)μ_π,   σ' = λσ + (1 − λ)σ_π,   λ ~ Beta(0.1, 0.1) for each sample
 *
 * with no gradient through the statistics. It follows stages 1 to 3 (a ResNet's layer1 to layer3), but never the last stage
 * of a smaller network: there the statistics tell the class, and mixing them hurts (the paper's analysis of where to apply it).
 *
 * Two public variants (`mixing`), both in SWAD's code, which the published domain generalization numbers are from; it does not
 * say which of them:
 * - `random`: styles are mixed within the whole batch in a random order, and the loss is ERM's. It needs no domain labels,
 *   and is the default as it asks for less.
 * - `cross-domain`: half of each domain's samples are joined with half of the next domain's, one pass each, and styles are
 *   mixed across the two halves. The loss is the mean of the passes'. Between them the passes see every sample once, so
 *   the penalties are taken of all of their rows together.
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

/** The order in which samples lend their style to others. */
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
      // Of each stage the samples' λ and the samples whose style they take.
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

/** λ of each sample, and whose style it takes; in half of the cases λ = 1 and its own, with which mixing changes nothing. */
function drawMixture(samples: number, draw: Draws, orderOf: OrderOf): number[] {
  const own = Array.from({ length: samples }, (_, i) => i);
  if (draw.uniform("coin") > PROBABILITY) return [...own.map(() => 1), ...own];
  return [...own.map(() => draw.beta("lambda", ALPHA, ALPHA)), ...orderOf(samples, draw)];
}

/** The map [n, channels, height, width] with its styles mixed by λ and the order [2, n]. */
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
  // As one factor and one term for each channel, so that the large map is passed over twice and not four times.
  const factor = blend(deviation).div(deviation);
  const mixed = values.mul(factor).add(blend(mean).sub(mean.mul(factor)));
  return mixed.dtype === map.dtype ? mixed : mixed.toDType(map.dtype);
}

/** The first half of one domain's samples and the second half of another's, as many of each. */
function halves(first: Minibatch, second: Minibatch): Minibatch {
  const rows = Math.min(first.x.rows, second.x.rows) >> 1;
  if (rows === 0) {
    const got = `${first.x.rows} and ${second.x.rows}`;
    throw new UsageError(`MixStyle with mixing=cross-domain needs at least 2 samples of each domain, got ${got}`);
  }
  const join = (a: Tensor, b: Tensor): Tensor => cat([a.narrow(0, 0, rows), b.narrow(0, b.rows - rows, rows)]);
  return { x: join(first.x, second.x), y: join(first.y, second.y) };
}

/** Each half takes its styles from the other, in a random order: positions from the last to the first, shuffled by half. */
function acrossHalves(samples: number, draw: Draws): number[] {
  const half = samples / 2;
  const backwards = Array.from({ length: samples }, (_, i) => samples - 1 - i);
  const shuffled = (part: number[]): number[] => draw.permutation("order", half).map((i) => part[i]);
  return [...shuffled(backwards.slice(0, half)), ...shuffled(backwards.slice(half))];
}
