/**
 * PACS: seven classes in four styles. The counts by class are those of the copy whose counts by domain are the
 * published ones.
 */
import { folderBenchmark } from "./folder-benchmark.js";

export const pacs = folderBenchmark({
  id: "pacs",
  title: "PACS",
  summary: "paintings, cartoons, photos and sketches of seven kinds of things",
  paper:
    "Li, Yang, Song and Hospedales, Deeper, Broader and Artier Domain Generalization, ICCV 2017, https://arxiv.org/abs/1710.03077",
  licence:
    "none is stated by its authors; the pictures come from several collections, so treat it as for research only",
  source: "the paper's project page; DomainBed's download script fetches a copy that unpacks as kfold/",
  layout: "PACS/art_painting/dog/pic_001.jpg",
  published: {
    domains: [
      {
        name: "art_painting",
        aliases: ["art"],
        label: "A",
        count: 2048,
        perClass: [379, 255, 285, 184, 201, 295, 449],
      },
      { name: "cartoon", label: "C", count: 2344, perClass: [389, 457, 346, 135, 324, 288, 405] },
      { name: "photo", label: "P", count: 1670, perClass: [189, 202, 182, 186, 199, 280, 432] },
      { name: "sketch", label: "S", count: 3929, perClass: [772, 740, 753, 608, 816, 80, 160] },
    ],
    classes: ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"],
    total: 9991,
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
