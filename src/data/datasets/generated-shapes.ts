/** The generated shapes (`shapes.ts`) as a dataset. */

import { option } from "../../options.js";
import { type ArrayDomain, defineDataset } from "../dataset.js";
import { SHAPES_CLASSES, shapesDataset } from "./shapes.js";

export const generatedShapes = defineDataset({
  id: "shapes",
  title: "Shapes",
  summary:
    "seven shapes drawn in four styles, on a background that is correlated with the label, differently in each style",
  paper: "none: it comes with NUDGE",
  licence: "that of NUDGE",
  source: "generated, no files needed",
  layout: "no files",
  needsRoot: false,
  options: {
    size: option(32, "width and height in pixels"),
    perCell: option(100, "the number of pictures per domain and class; a larger number does not change the first ones"),
    seed: option(0, "another seed, other pictures"),
    cue: option(0.8, "the probability that the background matches the label; at 1/7 it carries no information"),
  },
  protocol: { steps: 5001, evaluateEvery: 100 },
  open({ options }) {
    const shapes = shapesDataset(options);
    const domains = shapes.domains.map((name, domain): ArrayDomain => {
      const count = shapes.count(domain);
      return {
        name,
        count,
        labels: Int32Array.from({ length: count }, (_, i) => shapes.label(domain, i)),
        read: (i) => shapes.picture(domain, i).pixels,
      };
    });
    return {
      id: "shapes",
      title: "Shapes",
      kind: "arrays",
      root: null,
      hasDomains: true,
      inputShape: shapes.inputShape,
      augmentable: true,
      options,
      classes: SHAPES_CLASSES,
      domains,
      notes: [],
    };
  },
});
