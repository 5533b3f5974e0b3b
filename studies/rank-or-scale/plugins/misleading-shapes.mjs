/**
 * The generated shapes with a cue that misleads in one domain: in three domains one table says which wallpaper goes with which label,
 * and in the fourth another does. With `textured` held out, a network that reads the wallpaper is right in `cue` of the training pictures
 * and in (1 − cue)/6 of the held-out ones. The shapes of `textured` are easy to recognize after the others, so what is lost there is lost to the cue.
 */

import { defineDataset, option, SHAPES_CLASSES, shapesDataset } from "nudge-dg";

export const misleadingShapes = defineDataset({
  id: "misleading-shapes",
  title: "Misleading shapes",
  summary:
    "seven shapes drawn in four styles, on a background that is correlated with the label and misleads in one style",
  paper: "none: it comes with NUDGE",
  licence: "that of NUDGE",
  source: "generated, no files needed",
  layout: "no files",
  needsRoot: false,
  options: {
    size: option(16, "width and height in pixels"),
    perCell: option(100, "the number of pictures per domain and class"),
    seed: option(0, "another seed, other pictures"),
    cue: option(0.9, "the probability that the background matches the label; at 1/7 it carries no information"),
  },
  protocol: { steps: 301, evaluateEvery: 25 },
  open({ options }) {
    const shapes = shapesDataset({ ...options, misleading: "textured" });
    return {
      ...{ id: "misleading-shapes", title: "Misleading shapes", kind: "arrays", root: null, hasDomains: true },
      ...{ inputShape: shapes.inputShape, augmentable: true, options, classes: SHAPES_CLASSES, notes: [] },
      domains: shapes.domains.map((name, domain) => {
        const count = shapes.count(domain);
        const labels = Int32Array.from({ length: count }, (_, i) => shapes.label(domain, i));
        return { name, count, labels, read: (i) => shapes.picture(domain, i).pixels };
      }),
    };
  },
});
