/**
 * ADRMX uses two backbones, one for the class (φ_y) and one for the domain (φ_d), and subtracts the domain features
 * from the class features. With a = φ_y(x), b = φ_d(x), u = a − b, the domain d, the discriminator loss A = CE(h(u),
 * d), and a supervised contrastive loss SC,
 *
 *     discriminator:  A
 *     generator:      CE(c₁(a), y) + CE(c₂(u), y) + λ_d·CE(c_d(b), d) + λ_r·M + λ_c·(SC(a) + SC(u)) − λ_h·A
 *
 * There are S = `dStepsPerGStep` discriminator updates for each generator update, with two Adam optimizers without
 * weight decay. For S = 2 the first update is the discriminator's. Predictions are c₁(φ_y(x)). M is the remix loss: for
 * each class with two or more samples, CE(c₁(u_i + b_j), y_i), divided by the number of classes. Penalties apply to a
 * in the generator's updates.
 *
 * - `remix`: DomainBed draws i and j as positions within the class but uses them as positions in the batch, so they are
 *   two   of the batch's first samples, regardless of class (`positions`). `same-class` is the intended method: two
 *   samples of the   class from two domains.
 *
 * SC is DomainBed's: positives and negatives of the same domain and of other domains have equal weight, 1e-5 is added
 * in two places, and the sum is divided by one more than the number of samples that have a positive.
 */

import { Mlp } from "../backbones/index.js";
import { eye } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam, variant } from "../hparams.js";
import { crossEntropy, nonlinearClassifier, toFullPrecision } from "../nn/index.js";
import { type Batch, defineAlgorithm, type StepContext } from "./algorithm.js";
import { domainLabels } from "./domain-labels.js";
import type { Draws } from "./draws.js";
import { addPenalty } from "./penalised-loss.js";
import { variantOf } from "./variant.js";

const REMIXES = ["positions", "same-class"] as const;
const TEMPERATURE = 0.07;
const WEIGHT = 0.5;
const EPS = 1e-5;
/** A label that the cross-entropy ignores. */
const IGNORED = -100;

const lr = (value: number, values: readonly number[]) => ({ lr: hparam(value, choice(values), { reference: "lr" }) });

export const adrmx = defineAlgorithm({
  id: "adrmx",
  title: "ADRMX",
  paper:
    "Demirel, Aptoula & Ozkan, ADRMX: Additive Disentanglement of Domain Features with Remix Loss, 2023, https://arxiv.org/abs/2308.06624",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    contrastWeight: hparam(1, choice([1]), { reference: "cnt_lambda" }),
    domainWeight: hparam(1, choice([1]), { reference: "dclf_lambda" }),
    discriminatorWeight: hparam(0.75, choice([0.75]), { reference: "disc_lambda" }),
    remixWeight: hparam(1, choice([1]), { reference: "rmxd_lambda" }),
    dStepsPerGStep: hparam(2, choice([2]), { reference: "d_steps_per_g_step" }),
    beta1: hparam(0.5, choice([0.5]), { reference: "beta1" }),
    mlpWidth: hparam(256, choice([256]), { reference: "mlp_width" }),
    mlpDepth: hparam(9, choice([8, 9, 10]), { reference: "mlp_depth" }),
    mlpDropout: hparam(0, choice([0]), { reference: "mlp_dropout" }),
    remix: variant(REMIXES),
  },
  unused: { weightDecay: [], nonlinearClassifier: [] }, // its classifiers are never linear
  overrides: { small: lr(3e-3, [5e-4, 1e-3, 2e-3, 3e-3]), large: lr(3e-5, [2e-5, 3e-5, 4e-5, 5e-5]) },

  build({ backbone, copyBackbone, classes, domains, adam, hparams }) {
    const { contrastWeight, domainWeight, discriminatorWeight, remixWeight, dStepsPerGStep } = hparams;
    const remix = variantOf("remix of ADRMX", hparams.remix, REMIXES);
    const { width } = backbone;
    const domainBackbone = copyBackbone();
    const discriminator = new Mlp({
      inputShape: [width],
      width: hparams.mlpWidth,
      depth: hparams.mlpDepth,
      dropout: hparams.mlpDropout,
      outputs: domains,
    });
    const classifier = nonlinearClassifier(width, classes);
    const differenceClassifier = nonlinearClassifier(width, classes);
    const domainClassifier = nonlinearClassifier(width, domains);
    const generator = [backbone, domainBackbone, classifier, differenceClassifier, domainClassifier];
    const settings = { betas: [hparams.beta1, 0.9], weightDecay: 0 } as const;
    const optimizers = {
      discriminator: adam(discriminator.parameters(), settings),
      generator: adam(
        generator.flatMap((module) => module.parameters()),
        settings,
      ),
    };

    function discriminatorStep(batch: Batch, ctx: StepContext): Record<string, Tensor> {
      const difference = noGrad(() => backbone.forward(batch.x).sub(domainBackbone.forward(batch.x)));
      const loss = ctx.checked(crossEntropy(discriminator.forward(difference), domainLabels(batch)));
      optimizers.discriminator.zeroGrad();
      loss.backward();
      optimizers.discriminator.step();
      return { loss_disc: loss };
    }

    function generatorStep(batch: Batch, ctx: StepContext): Record<string, Tensor> {
      const { x, y } = batch;
      const d = domainLabels(batch);
      const a = backbone.forward(x); // [n, width]
      const b = domainBackbone.forward(x);
      const u = a.sub(b);
      const logits = classifier.forward(a);
      const losses = {
        loss_cnt_int: contrast(a, y),
        loss_cnt_final: contrast(u, y),
        loss_clf_int: crossEntropy(logits, y),
        loss_clf_fin: crossEntropy(differenceClassifier.forward(u), y),
        loss_dmn: crossEntropy(domainClassifier.forward(b), d),
        loss_disc: crossEntropy(discriminator.forward(u), d),
        loss_remixed: remixed(u, b, drawPairs(batch, ctx)),
      };
      const total = losses.loss_clf_int
        .add(losses.loss_clf_fin)
        .add(losses.loss_dmn, { alpha: domainWeight })
        .add(losses.loss_remixed, { alpha: remixWeight })
        .add(losses.loss_cnt_int.add(losses.loss_cnt_final), { alpha: contrastWeight })
        .sub(losses.loss_disc, { alpha: discriminatorWeight });
      const loss = addPenalty(total, ctx, a, logits);
      for (const optimizer of Object.values(optimizers)) optimizer.zeroGrad(); // the loss depends on the discriminator too
      loss.backward();
      optimizers.generator.step();
      return { loss_total: loss, ...losses };
    }

    /**
     * Draws the pairs (i, j) to remix, one for each class: a row of i, a row of j and a row of labels. The last element
     * is the share of classes that have a pair.
     */
    function drawPairs({ domains: parts }: Batch, { prepared }: StepContext): Tensor {
      const domainOf = parts.flatMap(({ x }, e) => new Array<number>(x.rows).fill(e));
      return prepared([3 * classes + 1], ({ draw, labels }) => {
        const pairs = pairsOf(labels, domainOf, { classes, remix, draw });
        const row = (none: number, of: (pair: readonly [number, number]) => number): number[] =>
          Array.from({ length: classes }, (_, k) => (k < pairs.length ? of(pairs[k]) : none));
        return [
          ...row(0, ([i]) => i),
          ...row(0, ([, j]) => j),
          ...row(IGNORED, ([i]) => labels[i]),
          pairs.length / classes,
        ];
      });
    }

    /** Returns the cross-entropy of remixed features, averaged over classes, or 0 if no class has a pair. */
    function remixed(u: Tensor, b: Tensor, drawn: Tensor): Tensor {
      const [i, j, labels] = [0, 1, 2].map((row) => drawn.narrow(0, row * classes, classes).toDType("int64"));
      const mean = crossEntropy(classifier.forward(u.take(i).add(b.take(j))), labels); // the mean over existing pairs
      const share = drawn.select(0, 3 * classes).toDType(mean.dtype);
      return mean.mul(share).where(share.gt(0), 0);
    }

    return {
      modules: { backbone, classifier, domainBackbone, discriminator, differenceClassifier, domainClassifier },
      optimizers,
      update(batch, ctx) {
        const isDiscriminatorTurn = ctx.schedule((step) => (step + 1) % (1 + dStepsPerGStep) < dStepsPerGStep);
        return isDiscriminatorTurn ? discriminatorStep(batch, ctx) : generatorStep(batch, ctx);
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/**
 * Returns the batch indices of the two samples to remix for each class with two or more samples, in ascending order of
 * the class.
 */
export function pairsOf(
  labels: readonly number[],
  domainOf: readonly number[],
  { classes, remix, draw }: { classes: number; remix: (typeof REMIXES)[number]; draw: Draws },
): [number, number][] {
  return Array.from({ length: classes }, (_, label) => label).flatMap((label): [number, number][] => {
    const members = [...labels.keys()].filter((i) => labels[i] === label);
    if (members.length < 2) return [];
    const order = draw.permutation("remix", members.length);
    if (remix === "positions") return [[order[0], order[1]]];
    const shuffled = order.map((place) => members[place]);
    const other = shuffled.find((j) => domainOf[j] !== domainOf[shuffled[0]]);
    return other === undefined ? [] : [[shuffled[0], other]];
  });
}

/** The contrastive loss of features [n, width] with classes y [n]. */
export function contrast(features: Tensor, y: Tensor): Tensor {
  const v = toFullPrecision(features);
  const unit = v.div(v.norm(1, { keepdim: true }).clamp(1e-12));
  const others = eye(v.rows, { dtype: "bool", device: v.device }).logicalNot();
  const positives = y.unsqueeze(1).eq(y.unsqueeze(0)).logicalAnd(others).toDType(v.dtype); // [n, n]
  const scores = unit.mm(unit.t()).div(TEMPERATURE).exp().mul(WEIGHT);
  const all = scores.mul(others.toDType(v.dtype)).sum(1, true).add(EPS); // [n, 1]
  const counts = positives.sum(1); // [n]
  const each = scores.div(all).add(EPS).log().mul(positives).sum(1).div(counts.clamp(1)); // 0 if there are no positives
  return each.sum().neg().div(counts.gt(0).sum().add(1));
}
