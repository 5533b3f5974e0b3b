/**
 * NICO++: photographs of 60 kinds of objects in six contexts, the part that its authors' domain generalization
 * benchmark uses. The protocol of the authors holds out two domains at a time: autumn and rock, dim and grass, outdoor
 * and water.
 */
import { folderBenchmark } from "./folder-benchmark.js";

export const nico = folderBenchmark({
  id: "nico",
  title: "NICO++",
  summary: "photographs of 60 kinds of things in autumn, dim light, grass, outdoors, on rock and in water",
  paper:
    "Zhang, He, Xu, Yu, Shen and Cui, NICO++: Towards Better Benchmarking for Domain Generalization, CVPR 2023, https://arxiv.org/abs/2204.08040",
  licence: "free for non-commercial research, as its authors state",
  source: "the authors' repository, https://github.com/xxgege/NICO-plus, which links the download",
  layout: "nico/autumn/bear/….jpg",
  published: {
    domains: ["autumn", "dim", "grass", "outdoor", "rock", "water"].map((name) => ({ name, label: name })),
    classes: 60,
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
