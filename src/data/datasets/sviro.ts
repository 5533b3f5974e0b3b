/**
 * SVIRO: rendered pictures of seats in ten cars, as DomainBed uses it: gray crops of single seats, class folders 0 to
 * 6. Up to three crops come from one rendered scene, so a random split has the same scene on both sides.
 */
import { folderBenchmark } from "./folder-benchmark.js";

const cars = ["aclass", "escape", "hilux", "i3", "lexus", "tesla", "tiguan", "tucson", "x5", "zoe"];

export const sviro = folderBenchmark({
  id: "sviro",
  title: "SVIRO",
  summary: "rendered rear seats of ten cars: empty, or with one of six kinds of things or people",
  paper:
    "Dias Da Cruz, Wasenmüller, Beise, Stifter and Stricker, SVIRO: Synthetic Vehicle Interior Rear Seat Occupancy Dataset and Benchmark, WACV 2020, https://arxiv.org/abs/2001.03483",
  licence: "see the dataset's page, https://sviro.kl.dfki.de",
  source: "the dataset's page, https://sviro.kl.dfki.de; DomainBed uses its grey pictures of single seats",
  layout: "sviro/aclass/0/….png",
  published: {
    domains: cars.map((name) => ({ name, label: name })),
    classes: ["0", "1", "2", "3", "4", "5", "6"],
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
