/**
 * DomainNet: 345 classes in six styles. The published counts exclude the 9,431 duplicates in the list of the reference.
 * Give that list as the option `duplicates`, or delete these files.
 */
import { folderBenchmark } from "./folder-benchmark.js";

export const domainNet = folderBenchmark({
  id: "domain-net",
  title: "DomainNet",
  summary: "clip art, infographics, paintings, quick drawings, photographs and sketches of 345 kinds of things",
  paper:
    "Peng, Bai, Xia, Huang, Saenko and Wang, Moment Matching for Multi-Source Domain Adaptation, ICCV 2019, https://arxiv.org/abs/1812.01754",
  licence:
    "no open licence: the pictures were found on the web and are offered for research under a fair-use notice; see the dataset's page",
  source:
    "the paper's page, http://ai.bu.edu/M3SDA/ (the cleaned version); the list of duplicates is domain_net_duplicates.txt of DomainBed",
  layout: "domain_net/clipart/aircraft_carrier/….jpg",
  duplicateList: true,
  published: {
    domains: [
      { name: "clipart", label: "clip", count: 48129 },
      { name: "infograph", label: "info", count: 51605 },
      { name: "painting", label: "paint", count: 72266 },
      { name: "quickdraw", label: "quick", count: 172500 },
      { name: "real", label: "real", count: 172947 },
      { name: "sketch", label: "sketch", count: 69128 },
    ],
    classes: 345,
    total: 586575,
    duplicates: 9431,
  },
  protocol: { steps: 5001, evaluateEvery: 1000 },
});
