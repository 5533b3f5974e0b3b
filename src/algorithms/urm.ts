/**
 * URM (uniform risk minimization) learns features that fill their range evenly, so that no part of the range is new at
 * test time. A discriminator h distinguishes features from uniform noise, and the network learns features that look
 * like noise:
 *
 *     network:        CE(w(z), y) + λ·BCE(h(z), 1),   z = act(φ(x))
 *     discriminator:  BCE(h(noise), 1) + λ·BCE(h(z), 0),   noise ~ U[−1, 1) for tanh, U[0, 1) for relu and sigmoid
 *
 * As in DomainBed, λ weights the features' term in both losses, and the discriminator is trained on the features from
 * before the network's step. With `labelSmoothing` ε, its targets are drawn from U(1 − ε, 1) and U(0, ε). Penalties
 * apply to z after the activation, which is the input of the classifier.
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { choice, hparam, powerOfTen, uniform, variant } from "../hparams.js";
import { binaryCrossEntropy, crossEntropy, LeakyReLU, Linear, Sequential } from "../nn/index.js";
import { SGD } from "../optim/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { addPenalty } from "./penalised-loss.js";
import { variantOf } from "./variant.js";

const HIDDEN = 100;
const OPTIMIZERS = ["adam", "sgd"] as const;

/** The activation of the features, and the range of the noise. */
const ACTIVATIONS: Readonly<Record<string, { of: (z: Tensor) => Tensor; from: number; to: number }>> = {
  tanh: { of: (z) => z.tanh(), from: -1, to: 1 },
  relu: { of: (z) => z.relu(), from: 0, to: 1 },
  sigmoid: { of: (z) => z.sigmoid(), from: 0, to: 1 },
};

const rate = (value: number, from: number, to: number) => ({
  discriminatorLr: hparam(value, powerOfTen(from, to), { reference: "urm_discriminator_lr" }),
});

export const urm = defineAlgorithm({
  id: "urm",
  title: "URM",
  paper:
    "Krishnamachari, Ng & Foo, Uniformly Distributed Feature Representations for Fair and Robust Learning, TMLR 2024, https://openreview.net/forum?id=PgLbS5yp8n",
  needsDomains: false,
  hparams: {
    lambda: hparam(0.1, uniform(0, 0.2), { reference: "urm_adv_lambda" }),
    labelSmoothing: hparam(0, choice([0]), { reference: "urm_discriminator_label_smoothing" }),
    discriminatorLayers: hparam(1, choice([1, 2, 3]), { reference: "urm_discriminator_hidden_layers" }),
    /** The activation of the features: `tanh`, `relu` or `sigmoid`. */
    activation: hparam("tanh", choice(["tanh", "relu"]), { reference: "urm_generator_output" }),
    ...rate(5e-5, -6, -4.5),
    discriminatorOptimizer: variant(OPTIMIZERS, { reference: "urm_discriminator_optimizer" }),
  },
  hparamsBySize: { small: rate(1e-3, -5.5, -3.5), large: rate(5e-5, -6, -4.5) },

  build({ backbone, classifier, adam, hparams }) {
    const { lambda, labelSmoothing, discriminatorLayers, discriminatorLr: lr, weightDecay } = hparams;
    const activation = ACTIVATIONS[variantOf("activation of URM", hparams.activation, Object.keys(ACTIVATIONS))];
    const kind = variantOf("discriminatorOptimizer of URM", hparams.discriminatorOptimizer, OPTIMIZERS);
    if (!(labelSmoothing >= 0 && labelSmoothing <= 1))
      throw new UsageError(`URM labelSmoothing: expected a number from 0 to 1, got ${labelSmoothing}`);
    if (!Number.isInteger(discriminatorLayers) || discriminatorLayers < 0)
      throw new UsageError(`URM discriminatorLayers: expected an integer of at least 0, got ${discriminatorLayers}`);
    const layer = (inputs: number) => [new Linear(inputs, HIDDEN), new LeakyReLU()];
    const discriminator = new Sequential(
      ...layer(backbone.width),
      ...Array.from({ length: discriminatorLayers }, () => layer(HIDDEN)).flat(),
      new Linear(HIDDEN, 1),
    );
    const optimizers = {
      main: adam([...backbone.parameters(), ...classifier.parameters()]),
      discriminator:
        kind === "adam"
          ? adam(discriminator.parameters(), { lr })
          : new SGD(discriminator.parameters(), { lr, weightDecay, momentum: 0.9 }),
    };
    const discriminate = (z: Tensor): Tensor => discriminator.forward(z).squeeze(1); // [n]

    return {
      modules: { backbone, classifier, discriminator },
      optimizers,
      update({ x, y }, ctx) {
        const features = activation.of(backbone.forward(x)); // [n, width]
        const logits = classifier.forward(features);
        const generatorLoss = binaryCrossEntropy(discriminate(features), 1);
        const objective = crossEntropy(logits, y).add(generatorLoss, { alpha: lambda });
        const loss = addPenalty(objective, ctx, features, logits);
        for (const optimizer of Object.values(optimizers)) optimizer.zeroGrad(); // the loss depends on the discriminator too
        loss.backward();
        optimizers.main.step();

        const { from, to } = activation;
        const z = features.detach();
        const noise = ctx.draw
          .uniformLike("noise", z.shape, z)
          .mul(to - from)
          .add(from);
        const targets = (name: string, low: number) =>
          ctx.draw.uniformLike(name, [z.rows], z).mul(labelSmoothing).add(low);
        const smooth = labelSmoothing > 0;
        const noiseLoss = binaryCrossEntropy(
          discriminate(noise),
          smooth ? targets("noise targets", 1 - labelSmoothing) : 1,
        );
        const featureLoss = binaryCrossEntropy(discriminate(z), smooth ? targets("feature targets", 0) : 0);
        optimizers.discriminator.zeroGrad();
        noiseLoss.add(featureLoss, { alpha: lambda }).backward();
        optimizers.discriminator.step();
        return { loss };
      },
      predict: (x) => classifier.forward(activation.of(backbone.forward(x))),
    };
  },
});
