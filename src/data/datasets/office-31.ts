/**
 * Office-31: office objects from three cameras. The archive of the authors has a folder `images` in each domain; copies
 * often do not.
 */
import { folderBenchmark } from "./folder-benchmark.js";

export const office31 = folderBenchmark({
  id: "office-31",
  title: "Office-31",
  summary: "31 kinds of office things in pictures of a shop, of a reflex camera and of a webcam",
  paper: "Saenko, Kulis, Fritz and Darrell, Adapting Visual Category Models to New Domains, ECCV 2010",
  licence: "none is stated by its authors; treat it as for research only",
  source: "an author's page on domain adaptation, https://faculty.cc.gatech.edu/~judy/domainadapt/",
  layout: "office31/amazon/back_pack/frame_0001.jpg",
  published: {
    domains: [
      { name: "amazon", label: "A", count: 2817 },
      { name: "dslr", label: "D", count: 498 },
      { name: "webcam", label: "W", count: 795 },
    ],
    classes: [
      ...["back_pack", "bike", "bike_helmet", "bookcase", "bottle", "calculator", "desk_chair", "desk_lamp"],
      ...["desktop_computer", "file_cabinet", "headphones", "keyboard", "laptop_computer", "letter_tray"],
      ...["mobile_phone", "monitor", "mouse", "mug", "paper_notebook", "pen", "phone", "printer", "projector"],
      ...["punchers", "ring_binder", "ruler", "scissors", "speaker", "stapler", "tape_dispenser", "trash_can"],
    ],
    total: 4110,
  },
  protocol: { steps: 5001, evaluateEvery: 300 },
});
