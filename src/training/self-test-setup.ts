/**
 * The setups of the self-test (self-test.ts): generated batches with a learnable signal, and learners for them. There
 * are two setups. `SMALL` has a thousand weights in float32, which can be compared with the CPU's. `networkSetup` is a
 * real network, in the precision, memory format and captured form in which `nudge train` runs it on a GPU.
 */

import type { AlgorithmDefinition, Batch, Minibatch } from "../algorithms/algorithm.js";
import { type Draws, keyedDraws } from "../algorithms/draws.js";
import { turnsOf } from "../algorithms/turns.js";
import { type Backbone, backboneNamed } from "../backbones/index.js";
import { cat, empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import type { HparamValue } from "../hparams.js";
import type { Precision } from "../nn/index.js";
import { nuclearNorm, type Regularizer } from "../regularizers/index.js";
import { Learner } from "./learner.js";

export const DOMAINS = 3;
export const CLASSES = 4;

export interface Setup {
  readonly backbone: string;
  /** The height and width of a picture. */
  readonly size: number;
  /** The number of pictures per domain in a batch. */
  readonly rows: number;
  readonly precision: Precision;
  readonly channelsLast: boolean;
  readonly lr: number;
  /** The step numbers, because an algorithm may change its loss at a certain step. */
  readonly steps: readonly number[];
  readonly regularizers: () => readonly Regularizer[];
  /** Hyperparameters of the algorithm that override its defaults. */
  readonly hparams?: Readonly<Record<string, HparamValue>>;
}

/**
 * Values that differ from the defaults. With tau = 1, SAND-mask may mask every gradient in a few updates, and there
 * would be nothing to compare.
 */
const HPARAMS: Readonly<Record<string, Record<string, number>>> = { "sand-mask": { tau: 0.2 } };

/**
 * Values for the small network: discriminators that are small too. ADRMX's default has 465,000 weights, in which errors in the
 * thousand weights of the backbones would not be visible. Among its 50,000 activations there are always some so close to
 * the kink of ReLU that a rounding error decides whether a unit has a gradient. After 16 updates, inputs that differ in the last bit
 * gave weights that differed by 1 to 24 % of their movement, on the CPU as on a GPU.
 */
const SMALL_HPARAMS: Readonly<Record<string, Record<string, number>>> = {
  dann: { mlpWidth: 16 },
  cdann: { mlpWidth: 16 },
  adrmx: { mlpWidth: 16 },
};

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** The regularizer becomes active halfway, so that two kinds of updates are captured. */
export const SMALL: Setup = {
  backbone: "toy-cnn",
  size: 8,
  rows: 8,
  precision: "float32",
  channelsLast: false,
  lr: 1e-3,
  steps: upTo(16),
  regularizers: () => [nuclearNorm({ weight: 0.01, warmup: 8 })],
};

/**
 * A network as `nudge train` runs it on a GPU: bfloat16, channels last, frozen batch norm. The steps jump ahead to
 * where the penalties of every algorithm are active. After the jump there are enough steps to capture an update of that
 * kind and to replay it.
 */
export const networkSetup = (given: Partial<Setup> = {}): Setup => ({
  backbone: "mobilenet_v2",
  size: 64,
  rows: 8,
  precision: "bf16",
  channelsLast: true,
  lr: 1e-4,
  steps: [...upTo(6), ...upTo(6).map((i) => 2000 + i)],
  regularizers: () => [],
  ...given,
});

/** Returns the steps of a setup for an algorithm: more if it alternates, so that each kind of update is captured and replayed. */
export function stepsFor({ steps }: Setup, algorithm: AlgorithmDefinition): number[] {
  const turns = turnsOf(algorithm);
  return steps.flatMap((step) => upTo(turns).map((turn) => step * turns + turn));
}

/** Returns the batch of a step: reproducible numbers with a learnable signal. */
export function batchOf({ size, rows, channelsLast }: Setup, step: number, device: string): Batch {
  const labels = upTo(rows).map((i) => (i + step) % CLASSES);
  const domains = upTo(DOMAINS).map((domain): Minibatch => {
    const host = new Random(0, ["self-test", step, domain]).host();
    const pixels = 3 * size * size;
    const x = new Float32Array(rows * pixels);
    for (let i = 0; i < x.length; i++) {
      const wave = Math.sin((i % pixels) * (labels[Math.floor(i / pixels)] + 1));
      x[i] = wave + 0.3 * domain + 0.3 * (host.uniform() - 0.5);
    }
    const made = tensor(x, { shape: [rows, 3, size, size], device });
    return {
      x: channelsLast ? made.to({ memoryFormat: "channels_last" }) : made,
      y: tensor(labels, { dtype: "int64", device }),
    };
  });
  return {
    domains,
    x: cat(domains.map(({ x }) => x)),
    y: cat(domains.map(({ y }) => y)),
    labels: domains.flatMap(() => labels),
  };
}

/** Draws that do not depend on the device, because whole tensors are also drawn on the CPU. */
export function deviceIndependentDraws(step: number): Draws {
  const random = new Random(0, ["self-test", "draws", step]);
  const moved = (made: Tensor, { dtype, device }: Tensor): Tensor => made.to({ dtype, device });
  return {
    ...keyedDraws(random),
    normalLike: (name, like) => moved(random.next(name).normal_(empty(like.shape)), like),
    uniformLike: (name, shape, like) => moved(random.next(name).uniform_(empty(shape)), like),
  };
}

export function learnerOf(
  setup: Setup,
  algorithm: AlgorithmDefinition,
  device: string,
  drawsAt?: (step: number) => Draws,
): Learner {
  const { rows, precision, channelsLast, lr } = setup;
  const isSmall = setup.backbone === SMALL.backbone;
  const learner = new Learner({
    algorithm,
    makeBackbone: () => backboneOf(setup, 3 + (algorithm.backbone?.extraChannels ?? 0)),
    classes: CLASSES,
    domains: DOMAINS,
    hparams: {
      ...{ lr, batchSize: rows },
      ...HPARAMS[algorithm.id],
      ...(isSmall && SMALL_HPARAMS[algorithm.id]),
      ...setup.hparams,
    },
    regularizers: setup.regularizers(),
    device,
    precision,
    channelsLast,
    drawsAt,
  });
  if (isSmall) separateCopies(learner);
  return learner;
}

/**
 * Perturbs every parameter slightly with keyed random numbers. The two backbones of an algorithm start as copies, and
 * ADRMX normalizes the difference of their features. If it is zero, its direction is only rounding error, which differs
 * between CPU and GPU.
 */
function separateCopies(learner: Learner): void {
  const random = new Random(0, ["self-test", "copies"]);
  noGrad(() => {
    for (const [name, parameter] of learner.parameters()) {
      const noise = random.for(name).normal_(empty(parameter.shape), 0, 0.05);
      parameter.add_(noise.to({ dtype: parameter.dtype, device: parameter.device }));
    }
  });
}

/**
 * Initializes such that a frozen batch norm keeps the scale of the feature maps. torchvision's initialization requires
 * a trained one.
 */
function backboneOf({ backbone: id, size }: Setup, channels: number): Backbone {
  const random = new Random(0, ["self-test", "backbone"]);
  const backbone = backboneNamed(id)
    .build({ inputShape: [channels, size, size], batchNorm: "frozen" })
    .initialize(random);
  if (id === SMALL.backbone) return backbone;
  noGrad(() => {
    for (const [name, weight] of backbone.namedParameters()) {
      const [, inputs, height, width] = weight.shape;
      if (weight.shape.length === 4) random.for(name).normal_(weight, 0, Math.sqrt(2 / (inputs * height * width)));
    }
  });
  return backbone;
}
