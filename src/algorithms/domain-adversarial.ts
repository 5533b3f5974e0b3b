/**
 * The common part of DANN and CDANN: features from which a discriminator cannot infer the domain. Updates alternate
 * between the discriminator and the generator (backbone and classifier), with S = `dStepsPerGStep` discriminator steps
 * for each generator step. Each has its own Adam. As in DomainBed, there is no gradient reversal layer and no schedule
 * for λ.
 *
 *     discriminator:  A = CE(h(u), d) + grad_penalty·G        generator:  CE(w(z), y) − λ·A
 *
 * Here z are the features, d is the domain, and u is z (DANN) or z plus an embedding of the class (CDANN). Penalties
 * apply to z in the generator's loss, which is the one that updates the backbone.
 *
 * For S = 1 the first update is the generator's, because DomainBed increments its counter before it decides whose turn
 * it is.
 *
 * G, the squared gradient of the discriminator's loss, has two forms in public code (`gradPenaltyOf`):
 *
 * - `cross-entropy`: of the summed cross-entropy, per sample, as in DomainBed since August 2022. This is the default.
 * - `softmax-columns`: of Σᵢⱼ softmax(h(uᵢ))[dⱼ], which older revisions use because of an indexing error. With batches
 *   of   equal size every column is counted equally and the sum is constant, so its gradient is zero and the weight has
 *   no   effect.
 *
 * The published numbers were therefore computed without this penalty, whatever weight was drawn, and at the default
 * weight 0 both forms are the same. A searched weight should have an effect, so the first form is the default.
 *
 * Two computations of the reference are skipped: a discriminator step takes no gradient through the backbone (DomainBed
 * computes and discards it), and G is not computed at weight 0.
 */

import { Mlp } from "../backbones/index.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam, powerOfTen, powerOfTwoInteger, variant } from "../hparams.js";
import { crossEntropy, Embedding, type Module } from "../nn/index.js";
import type { Batch, BuildContext, HparamsOf, StepContext, UpdateAlgorithm } from "./algorithm.js";
import { domainLabels } from "./domain-labels.js";
import { addPenalty } from "./penalised-loss.js";
import { learningRate, weightDecay } from "./shared-hparams.js";
import { variantOf } from "./variant.js";

const PENALTIES = ["cross-entropy", "softmax-columns"] as const;

/** The shared hyperparameters that are not used, because there are two of each. */
export const adversarialUnused = { lr: ["lrG", "lrD"], weightDecay: ["weightDecayG", "weightDecayD"] };

/** The hyperparameters of both algorithms. */
export const adversarialHparams = {
  lambda: hparam(1, powerOfTen(-2, 2), { reference: "lambda" }),
  weightDecayD: hparam(0, powerOfTen(-6, -2), { reference: "weight_decay_d" }),
  dStepsPerGStep: hparam(1, powerOfTwoInteger(0, 3), { reference: "d_steps_per_g_step" }),
  gradPenalty: hparam(0, powerOfTen(-2, 1), { reference: "grad_penalty" }),
  beta1: hparam(0.5, choice([0, 0.5]), { reference: "beta1" }),
  mlpWidth: hparam(256, powerOfTwoInteger(6, 10), { reference: "mlp_width" }),
  mlpDepth: hparam(3, choice([3, 4, 5]), { reference: "mlp_depth" }),
  mlpDropout: hparam(0, choice([0, 0.1, 0.5]), { reference: "mlp_dropout" }),
  ...rates("large"),
  gradPenaltyOf: variant(PENALTIES),
};

/** The hyperparameters that depend on the dataset size. */
export const adversarialHparamsBySize = { small: rates("small"), large: rates("large") };

function rates(size: "small" | "large") {
  return {
    lrG: learningRate(size, "lr_g"),
    lrD: learningRate(size, "lr_d"),
    weightDecayG: weightDecay(size, "weight_decay_g"),
  };
}

/** Builds DANN, or CDANN if `conditional` is true. */
export function buildAdversarial(
  { backbone, classifier, classes, domains, hparams, adam }: BuildContext<HparamsOf<typeof adversarialHparams>>,
  { conditional }: { conditional: boolean },
): UpdateAlgorithm {
  const { lambda, dStepsPerGStep, gradPenalty, beta1 } = hparams;
  const penaltyOf = variantOf("gradPenaltyOf", hparams.gradPenaltyOf, PENALTIES);
  const discriminator = new Mlp({
    inputShape: [backbone.width],
    width: hparams.mlpWidth,
    depth: hparams.mlpDepth,
    dropout: hparams.mlpDropout,
    outputs: domains,
  });
  // DomainBed's DANN also creates this table but never uses it.
  const classEmbeddings = conditional ? new Embedding(classes, backbone.width) : null;
  const adversary: Record<string, Module> = { discriminator, ...(classEmbeddings && { classEmbeddings }) };
  const betas = [beta1, 0.9] as const;
  const optimizers = {
    discriminator: adam(
      Object.values(adversary).flatMap((module) => module.parameters()),
      { lr: hparams.lrD, weightDecay: hparams.weightDecayD, betas },
    ),
    generator: adam([...backbone.parameters(), ...classifier.parameters()], {
      lr: hparams.lrG,
      weightDecay: hparams.weightDecayG,
      betas,
    }),
  };

  /** Returns A, the loss of the discriminator on these features, including the weighted G. */
  function adversarialLoss(z: Tensor, batch: Batch): Tensor {
    const d = domainLabels(batch);
    const u = classEmbeddings ? z.add(classEmbeddings.forward(batch.y.toDType("int64"))) : z; // [n, width]
    const logits = discriminator.forward(u); // [n, domains]
    const losses = crossEntropy(logits, d, { reduction: "none" }); // [n]
    const loss = conditional ? losses.mul(classWeights(batch.y, classes, losses)).sum() : losses.mean();
    if (gradPenalty === 0) return loss;
    const total = penaltyOf === "cross-entropy" ? losses.sum() : logits.softmax(1).indexSelect(1, d).sum();
    const [gradient] = grad(total, [u], { createGraph: true });
    return loss.add(gradient.square().sum(1).mean().mul(gradPenalty));
  }

  function discriminatorStep(batch: Batch, ctx: StepContext): Record<string, Tensor> {
    const z = noGrad(() => backbone.forward(batch.x)).requiresGrad_(gradPenalty !== 0);
    const loss = ctx.checked(adversarialLoss(z, batch));
    optimizers.discriminator.zeroGrad();
    loss.backward();
    optimizers.discriminator.step();
    return { disc_loss: loss };
  }

  function generatorStep(batch: Batch, ctx: StepContext): Record<string, Tensor> {
    const z = backbone.forward(batch.x); // [n, width]
    const logits = classifier.forward(z); // [n, classes]
    const adversarialObjective = crossEntropy(logits, batch.y).sub(adversarialLoss(z, batch), { alpha: lambda });
    const loss = addPenalty(adversarialObjective, ctx, z, logits);
    for (const optimizer of Object.values(optimizers)) optimizer.zeroGrad(); // the loss depends on the discriminator too
    loss.backward();
    optimizers.generator.step();
    return { gen_loss: loss };
  }

  return {
    modules: { backbone, classifier, ...adversary },
    optimizers,
    update(batch, ctx) {
      const isDiscriminatorTurn = ctx.schedule((step) => (step + 1) % (1 + dStepsPerGStep) < dStepsPerGStep);
      return isDiscriminatorTurn ? discriminatorStep(batch, ctx) : generatorStep(batch, ctx);
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  };
}

/**
 * Returns the weight 1/(n_y·M) for each sample, where n_y is the number of samples of its class in the batch, so that
 * all classes have equal weight. As in DomainBed, M is one more than the highest class in the batch, not the number of
 * classes.
 */
function classWeights(y: Tensor, classes: number, like: Tensor): Tensor {
  const labels = y.toDType("int64");
  const counts = labels.oneHot(classes).sum(0).toDType(like.dtype); // [classes]
  return counts.indexSelect(0, labels).mul(labels.max().add(1)).reciprocal(); // [n]
}
