/**
 * MNIST dealt out to domains, as the reference deals it: all 70,000 digits in one random order, of which domain i of n takes
 * places i, i + n, i + 2n, …
 *
 * The reference draws from PyTorch's global generator, whose stream cannot be had without PyTorch. Ours is keyed by the
 * seed: same construction and distribution, other digits in a domain. As there, contents depend on the seed.
 */
import { keyedRandom } from "../../engine/philox.js";
import type { MnistDigits } from "./mnist-files.js";

/** For each domain, the places of its digits among all. */
export function dealDigits({ count }: MnistDigits, domains: number, seed: number): Uint32Array[] {
  const order = keyedRandom(seed, "mnist", "order").permutation(count);
  return Array.from({ length: domains }, (_, domain) => order.filter((_, place) => place % domains === domain));
}

/** The picture of a digit. */
export function digitPixels({ pixels, height, width }: MnistDigits, place: number): Uint8Array {
  return pixels.subarray(place * height * width, (place + 1) * height * width);
}

/** What the two datasets made from MNIST share. */
export const mnistFacts = {
  licence: "Creative Commons Attribution-Share Alike 3.0 (that of MNIST, Yann LeCun and Corinna Cortes)",
  source:
    "MNIST's four idx files, from Yann LeCun's MNIST page (yann.lecun.com) or as torchvision keeps them in MNIST/raw",
  layout: "MNIST/raw/train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-…; each perhaps .gz",
  needsRoot: true,
  protocol: { steps: 5001, evaluateEvery: 100 },
} as const;
