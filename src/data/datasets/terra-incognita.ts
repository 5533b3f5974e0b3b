/**
 * TerraIncognita: animals at four camera traps, a part of Caltech Camera Traps.
 *
 * The papers have 24,788 pictures. Later download scripts use newer annotation files and create other versions from the
 * same cameras, most often the 24,330 below. Numbers from different versions are not comparable, so state which one was
 * used.
 */
import { folderBenchmark } from "./folder-benchmark.js";

export const terraIncognita = folderBenchmark({
  id: "terra-incognita",
  title: "TerraIncognita",
  summary: "photographs of ten kinds of animals, or of none, from four camera traps",
  paper: "Beery, Van Horn and Perona, Recognition in Terra Incognita, ECCV 2018, https://arxiv.org/abs/1807.04975",
  licence: "Community Data License Agreement, permissive variant (that of Caltech Camera Traps)",
  source:
    "Caltech Camera Traps on LILA BC (lila.science), or its page at beerys.github.io/CaltechCameraTraps; sort locations 38, 43, 46 and 100 into folders by the annotations",
  layout: "terra_incognita/location_38/bobcat/….jpg",
  published: {
    domains: [
      { name: "location_100", aliases: ["L100", "100"], label: "L100" },
      { name: "location_38", aliases: ["L38", "38"], label: "L38" },
      { name: "location_43", aliases: ["L43", "43"], label: "L43" },
      { name: "location_46", aliases: ["L46", "46"], label: "L46" },
    ],
    classes: ["bird", "bobcat", "cat", "coyote", "dog", "empty", "opossum", "rabbit", "raccoon", "squirrel"],
    total: 24788,
    alsoSeen: [{ what: "the set that later annotation files give", counts: [4741, 9736, 3970, 5883] }],
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
