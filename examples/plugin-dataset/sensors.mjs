/**
 * A dataset, a backbone and a regularizer in one file, outside the library:
 *
 *     npx nudge train --plugin examples/plugin-dataset/sensors.mjs --data sensors --test-domain hall \
 *       --backbone gated --regularizer absolute-features --steps 301
 *
 * The data are generated: readings of eight sensors in four places, each place with its own offset. The sign of the first two readings
 * tells whether the machine runs well. Read your own data in `open`.
 */

import { Backbone, defineBackbone, defineDataset, defineRegularizer, hparam, Linear, option, powerOfTen, Random } from "nudge-dg"; // biome-ignore format: one line

const SENSORS = 8;
const PLACES = ["hall", "yard", "roof", "cellar"];

/** Random numbers are keyed by their purpose, so a larger dataset starts with the samples of a smaller one. @param {string} place @param {number} samples @param {number} seed */
function readings(place, samples, seed) {
  const offset = new Random(seed, ["offset", place]).host();
  const offsets = Array.from({ length: SENSORS }, () => offset.uniform(-0.5, 0.5));
  return Array.from({ length: samples }, (_, i) => {
    const draws = new Random(seed, [place, i]).host();
    const signal = Array.from({ length: SENSORS }, () => draws.uniform(-1, 1));
    return { label: Number(signal[0] + signal[1] > 0), values: signal.map((value, k) => value + offsets[k]) };
  });
}

export const sensors = defineDataset({
  id: "sensors",
  title: "Sensors",
  summary: "eight sensors in four places, each with an offset of its own",
  paper: "none: made up for this example",
  licence: "that of NUDGE",
  source: "generated, no files needed",
  layout: "no files",
  needsRoot: false,
  options: {
    samples: option(200, "readings in each place"),
    seed: option(0, "another seed, other readings"),
  },
  protocol: { steps: 1001, evaluateEvery: 100 },
  open({ options }) {
    const domains = PLACES.map((name) => {
      const samples = readings(name, options.samples, options.seed);
      return {
        name,
        count: samples.length,
        labels: Int32Array.from(samples, ({ label }) => label),
        read: (/** @type {number} */ i) => Float32Array.from(samples[i].values),
      };
    });
    return {
      ...{ id: "sensors", title: "Sensors", kind: "arrays", root: null, hasDomains: true, notes: [] },
      ...{ classes: ["wrong", "well"], inputShape: [SENSORS], augmentable: false, options, domains },
    };
  },
});

/** One layer whose outputs open and close each other: [n, inputs] to [n, width]. */
class Gated extends Backbone {
  /** @param {{ inputShape?: readonly number[], width?: number }} options */
  constructor({ inputShape = [SENSORS], width = 16 } = {}) {
    super();
    this.inputShape = inputShape;
    this.width = width;
    this.values = new Linear(inputShape[0], width);
    this.gates = new Linear(inputShape[0], width);
  }

  /** @param {import("nudge-dg").Tensor} x */
  forward(x) {
    return this.values.forward(x).mul(this.gates.forward(x).sigmoid());
  }
}

export const gated = defineBackbone({
  id: "gated",
  title: "Gated layer",
  paper: "none: made up for this example",
  build: (options) => new Gated(options),
});

export const absoluteFeatures = defineRegularizer({
  id: "absolute-features",
  title: "ABS",
  paper: "none: made up for this example",
  hparams: { weight: hparam(0.01, powerOfTen(-3, -1)) },
  penalty: ({ features }) => features.abs().mean(),
});
