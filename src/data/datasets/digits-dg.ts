/**
 * Digits-DG: digits from four datasets, 600 per class and domain. They are in folders `train` and `val`; both are used
 * and split again like all datasets. The pictures have 32 × 32 pixels and are enlarged like all picture files.
 */
import { folderBenchmark } from "./folder-benchmark.js";

const digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

export const digitsDg = folderBenchmark({
  id: "digits-dg",
  title: "Digits-DG",
  summary: "digits written by hand, on coloured ground, on house numbers and printed",
  paper:
    "Zhou, Yang, Hospedales and Xiang, Deep Domain-Adversarial Image Generation for Domain Generalisation, AAAI 2020, https://arxiv.org/abs/2003.06054",
  licence: "that of each of the four collections it is taken from; no licence is stated for the whole",
  source: "the authors' library Dassl, https://github.com/KaiyangZhou/Dassl.pytorch, which links the download",
  layout: "digits_dg/mnist/train/0/….jpg",
  parts: ["train", "val"],
  published: {
    domains: [
      { name: "mnist", label: "MNIST" },
      { name: "mnist_m", label: "MNIST-M" },
      { name: "svhn", label: "SVHN" },
      { name: "syn", label: "SYN" },
    ].map((domain) => ({ ...domain, count: 6000, perClass: digits.map(() => 600) })),
    classes: digits,
    total: 24000,
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
