/** VLCS: the common classes of four older photograph datasets. */
import { folderBenchmark } from "./folder-benchmark.js";

export const vlcs = folderBenchmark({
  id: "vlcs",
  title: "VLCS",
  summary: "photographs of five classes from four collections, Caltech101, LabelMe, SUN09 and VOC2007",
  paper:
    "Fang, Xu and Rockmore, Unbiased Metric Learning: On the Utilization of Multiple Datasets and Web Images for Softening Bias, ICCV 2013",
  licence: "that of each of the four collections it is taken from; no licence is stated for the whole",
  source: "see the paper's page for the collections; DomainBed's download script fetches a copy with this layout",
  layout: "VLCS/Caltech101/bird/….jpg",
  published: {
    domains: [
      { name: "Caltech101", aliases: ["caltech"], label: "C", count: 1415 },
      { name: "LabelMe", label: "L", count: 2656 },
      { name: "SUN09", aliases: ["sun"], label: "S", count: 3282 },
      { name: "VOC2007", aliases: ["voc", "pascal", "pascalvoc", "pascal2007"], label: "V", count: 3376 },
    ],
    classes: ["bird", "car", "chair", "dog", "person"],
    total: 10729,
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
