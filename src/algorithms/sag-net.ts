/**
 * SagNet: networks rely on style (the mean and variance of features) where the content should decide. A content head is
 * trained on features with the styles of other samples, a style head is trained on features with the content of others,
 * and the backbone is trained such that the style head cannot predict the class. As in DomainBed, this applies to the
 * feature vectors: mean and variance are those of a sample over its features. Each update has three passes with new
 * random draws:
 *
 *     1. CE(c(z with mixed styles), y)                     updates backbone and content head
 *     2. CE(s(z with the content of others), y)            updates the style head
 *     3. w_adv·mean(−log softmax(s(z with the content of others)))   updates the backbone again
 *
 * Penalties apply to the features of the first pass, before their styles are mixed. Unlike the reference, the second
 * pass computes no gradient through the backbone, which DomainBed computes and discards.
 */

import { noGrad, type Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen } from "../hparams.js";
import { crossEntropy, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import type { Draws } from "./draws.js";
import { addPenalty } from "./penalised-loss.js";

const EPS = 1e-5;

export const sagNet = defineAlgorithm({
  id: "sag-net",
  title: "SagNet",
  paper: "Nam et al., Reducing Domain Gap by Reducing Style Bias, CVPR 2021, https://arxiv.org/abs/1910.11645",
  needsDomains: false,
  hparams: { adversarialWeight: hparam(0.1, powerOfTen(-2, 1), { reference: "sag_w_adv" }) },

  build({ backbone, classifier, classes, makeClassifier, hparams: { adversarialWeight }, adam }) {
    const styleHead = makeClassifier(backbone.width, classes);
    const optimizers = {
      backbone: adam(backbone.parameters()),
      content: adam(classifier.parameters()),
      style: adam(styleHead.parameters()),
    };
    return {
      modules: { backbone, classifier, styleHead },
      optimizers,
      update({ x, y }, ctx) {
        const features = backbone.forward(x); // [n, width]
        const logits = classifier.forward(withMixedStyle(features, ctx.draw));
        const contentLoss = addPenalty(crossEntropy(logits, y), ctx, features, logits);
        optimizers.backbone.zeroGrad();
        optimizers.content.zeroGrad();
        contentLoss.backward();
        optimizers.backbone.step();
        optimizers.content.step();

        const fixed = noGrad(() => withOtherContent(backbone.forward(x), ctx.draw));
        const styleLoss = ctx.checked(crossEntropy(styleHead.forward(fixed), y));
        optimizers.style.zeroGrad();
        styleLoss.backward();
        optimizers.style.step();

        const styleLogits = toFullPrecision(styleHead.forward(withOtherContent(backbone.forward(x), ctx.draw)));
        const adversarialLoss = ctx.checked(styleLogits.logSoftmax(1).mean().mul(-adversarialWeight));
        optimizers.backbone.zeroGrad();
        adversarialLoss.backward(); // the style head's gradients are cleared before its next step
        optimizers.backbone.step();
        return { loss_c: contentLoss, loss_s: styleLoss, loss_adv: adversarialLoss };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns each sample's content with a style interpolated between its own and another sample's. */
function withMixedStyle(z: Tensor, draw: Draws): Tensor {
  const { content, mean, variance } = splitStyle(z);
  const order = orderOf(z, draw);
  const share = draw.uniformLike("share", [z.rows, 1], z);
  const blend = (own: Tensor): Tensor => {
    const other = own.take(order);
    return other.add(own.sub(other).mul(share)); // share·own + (1 − share)·other
  };
  return applyStyle(content, blend(mean), blend(variance));
}

/** Returns another sample's content, without gradient, in each sample's style. */
function withOtherContent(z: Tensor, draw: Draws): Tensor {
  const { content, mean, variance } = splitStyle(z);
  return applyStyle(content.take(orderOf(z, draw)).detach(), mean, variance);
}

const orderOf = (z: Tensor, draw: Draws): Tensor => draw.order("order", z.rows, z);

function splitStyle(z: Tensor): { content: Tensor; mean: Tensor; variance: Tensor } {
  const mean = z.mean(1, true); // [n, 1]
  const variance = z.variance(1, { keepdim: true });
  return { content: z.sub(mean).div(variance.add(EPS).sqrt()), mean, variance };
}

const applyStyle = (content: Tensor, mean: Tensor, variance: Tensor): Tensor =>
  content.mul(variance.add(EPS).sqrt()).add(mean);
