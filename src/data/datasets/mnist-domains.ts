/**
 * Divides MNIST into domains like the reference: all 70,000 digits in one random order; domain i of n takes positions
 * i, i + n, i + 2n, …
 *
 * The reference draws from PyTorch's global generator, whose stream is not available without PyTorch. Our order is
 * derived from the seed: the construction and distribution are the same, but the digits of a domain differ. As in the
 * reference, contents depend on the seed.
 */
import { keyedRandom } from "../../engine/philox.js";
import type { MnistDigits } from "./mnist-files.js";

/** For each domain, the indices of its digits. */
export function dealDigits({ count }: MnistDigits, domains: number, seed: number): Uint32Array[] {
  const order = keyedRandom(seed, "mnist", "order").permutation(count);
  return Array.from({ length: domains }, (_, domain) => order.filter((_, place) => place % domains === domain));
}

/** The picture of a digit. */
export function digitPixels({ pixels, height, width }: MnistDigits, place: number): Uint8Array {
  return pixels.subarray(place * height * width, (place + 1) * height * width);
}

/** The common part of the two datasets that are made from MNIST. */
export const mnistFacts = {
  licence: "Creative Commons Attribution-Share Alike 3.0 (that of MNIST, Yann LeCun and Corinna Cortes)",
  source:
    "MNIST's four idx files, from Yann LeCun's MNIST page (yann.lecun.com) or as torchvision keeps them in MNIST/raw",
  layout: "MNIST/raw/train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-…; each perhaps .gz",
  needsRoot: true,
  protocol: { steps: 5001, evaluateEvery: 100 },
} as const;
