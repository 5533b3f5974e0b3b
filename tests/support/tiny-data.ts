/**
 * Tiny datasets for tests that run every algorithm: three classes in three domains, learnable in a few updates. A class has
 * a pattern, a domain a shift, and samples have noise; all numbers are keyed, so every call gives the same.
 */

import type { Minibatch } from "../../src/algorithms/algorithm.js";
import { type Backbone, type BackboneOptions, backboneNamed } from "../../src/backbones/index.js";
import { Random } from "../../src/engine/random.js";
import { tensor } from "../../src/engine/tensor.js";

export const CLASSES = 3;
export const DOMAINS = 3;

export interface TinyData {
  readonly name: string;
  readonly inputShape: readonly number[];
  /** Of each domain in a batch. */
  readonly samples: number;
  readonly backbone: string;
  readonly options?: BackboneOptions;
}

export const vectors: TinyData = {
  name: "vectors",
  inputShape: [6],
  samples: 6,
  backbone: "mlp",
  options: { width: 8, depth: 2 },
};

export const arrays: TinyData = { name: "3×8×8 arrays", inputShape: [3, 8, 8], samples: 4, backbone: "toy-cnn" };

export const digits: TinyData = { name: "28×28 pictures", inputShape: [1, 28, 28], samples: 2, backbone: "mnist-cnn" };

/** Numbers from −1 to 1 that repeat along a sample, keyed by what they are the pattern of. */
function pattern(size: number, ...purpose: (string | number)[]): number[] {
  const host = new Random(0, purpose).host();
  const period = Array.from({ length: 6 }, () => 2 * host.uniform() - 1);
  return Array.from({ length: size }, (_, k) => period[k % period.length]);
}

/** The numbers of batches that were made, by data and step: tests take the same ones hundreds of times. */
const made = new Map<string, { labels: number[]; xs: Float32Array[] }>();

function numbersOf({ name, inputShape, samples }: TinyData, step: number): { labels: number[]; xs: Float32Array[] } {
  const size = inputShape.reduce((product, each) => product * each, 1);
  const classes = Array.from({ length: CLASSES }, (_, label) => pattern(size, name, "class", label));
  const labels = Array.from({ length: samples }, (_, i) => (i + step) % CLASSES);
  const xs = Array.from({ length: DOMAINS }, (_, domain) => {
    const noise = new Random(0, [name, "noise", step, domain]).host();
    const shift = pattern(size, name, "domain", domain);
    const x = labels.flatMap((label) =>
      classes[label].map((value, k) => value + 0.3 * shift[k] + 0.2 * (noise.uniform() - 0.5)),
    );
    return Float32Array.from(x);
  });
  return { labels, xs };
}

/** A minibatch a domain; belongs to the scope around. */
export function tinyBatch(data: TinyData, step: number): Minibatch[] {
  const { name, inputShape, samples } = data;
  const key = `${name}, ${samples} samples, step ${step}`;
  const { labels, xs } = made.get(key) ?? numbersOf(data, step);
  made.set(key, { labels, xs });
  return xs.map((x) => ({
    x: tensor(x, { shape: [samples, ...inputShape] }),
    y: tensor(labels, { dtype: "int64" }),
  }));
}

/** A backbone for it with its starting values: `extraChannels` is what ARM asks for. */
export function tinyBackbone({ backbone, inputShape, options }: TinyData, seed: number, extraChannels = 0): Backbone {
  const shape = extraChannels > 0 ? [inputShape[0] + extraChannels, ...inputShape.slice(1)] : inputShape;
  return backboneNamed(backbone)
    .build({ ...options, inputShape: shape })
    .initialize(new Random(seed, ["backbone"]));
}
