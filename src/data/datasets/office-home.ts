/** OfficeHome: everyday objects of offices and homes in four styles. Papers say "about 15,500"; the copies have 15,588. */
import { folderBenchmark } from "./folder-benchmark.js";

export const officeHome = folderBenchmark({
  id: "office-home",
  title: "OfficeHome",
  summary: "65 kinds of everyday objects as art, clip art, product pictures and photographs",
  paper:
    "Venkateswara, Eusebio, Chakraborty and Panchanathan, Deep Hashing Network for Unsupervised Domain Adaptation, CVPR 2017, https://arxiv.org/abs/1706.07522",
  licence:
    "no open licence: the pictures were found on the web and are offered for research under a fair-use notice; see the dataset's page",
  source: "the Office-Home page of its first author, Hemanth Venkateswara (hemanthdv.org)",
  layout: "office_home/Real World/Alarm_Clock/00001.jpg",
  published: {
    domains: [
      { name: "Art", label: "A", count: 2427 },
      { name: "Clipart", label: "C", count: 4365 },
      { name: "Product", label: "P", count: 4439 },
      { name: "Real World", aliases: ["real"], label: "R", count: 4357 },
    ],
    classes: 65,
    total: 15588,
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
