/**
 * The hyperparameters that the code behind DomainBed's tables of 2020 (commit 7df6f06) draws for pictures of 28 × 28 pixels. One generator is seeded for
 * each draw and trial, and gives one value after the other in the order of declaration. DomainBed since November 2020, and `nudge sweep plan --hparams`,
 * have a generator for each hyperparameter. tests/study-colored-mnist.test.ts compares these draws with those of DomainBed's own code.
 */
import { choice, powerOfTen, powerOfTenInteger, powerOfTwoInteger, uniform } from "../../dist/hparams.js";
import { RandomState } from "../../dist/reference/mt19937.js";
import { seedHash } from "../../dist/reference/seed-hash.js";

/** @typedef {import("../../dist/hparams.js").SearchRange<number>} Range */

/** The algorithms with two learning rates of their own. They draw the shared one and do not use it. */
const ADVERSARIES = ["dann", "cdann"];

/** Every algorithm draws these first. The dropout is that of a ResNet: the network for small pictures has none. @type {Record<string, Range>} */
const SHARED = { dropout: choice([0, 0.1, 0.5]), lr: powerOfTen(-4.5, -2.5), batchSize: powerOfTwoInteger(3, 9) };

/** @type {Record<string, Range>} */
const ADVERSARIAL = {
  ...{
    lrG: powerOfTen(-4.5, -2.5),
    lrD: powerOfTen(-4.5, -2.5),
    lambda: powerOfTen(-2, 2),
    weightDecayD: powerOfTen(-6, -2),
  },
  ...{ dStepsPerGStep: powerOfTwoInteger(0, 3), gradPenalty: powerOfTen(-2, 1), beta1: choice([0, 0.5]) },
  ...{ mlpWidth: powerOfTwoInteger(6, 10), mlpDepth: choice([3, 4, 5]), mlpDropout: choice([0, 0.1, 0.5]) },
};
/** @type {Record<string, Range>} */
const ANNEALED = { penaltyWeight: powerOfTen(-1, 5), annealSteps: powerOfTenInteger(0, 4) };

/** The algorithms of the tables, with what each draws of its own, in this order. @type {Record<string, Record<string, Range>>} */
export const OWN = {
  erm: {},
  irm: ANNEALED,
  "group-dro": { eta: powerOfTen(-3, -1) },
  mixup: { alpha: powerOfTen(-1, -1) }, // always 0.1
  mldg: { beta: powerOfTen(-1, 1) },
  coral: { gamma: powerOfTen(-1, 1) },
  mmd: { gamma: powerOfTen(-1, 1) },
  dann: ADVERSARIAL,
  cdann: ADVERSARIAL,
  mtl: { ema: choice([0.5, 0.9, 0.99, 1]) },
  "sag-net": { adversarialWeight: powerOfTen(-2, 1) },
  arm: {},
  vrex: ANNEALED,
  rsc: { featureDrop: uniform(0, 0.5), sampleDrop: uniform(0, 0.5) },
};

/** What the code of that commit computes differently from today's, as settings. @type {Record<string, Record<string, string>>} */
export const VARIANTS = {
  dann: { gradPenaltyOf: "softmax-columns" },
  cdann: { gradPenaltyOf: "softmax-columns" },
  "group-dro": { divideByDomains: "true" },
  mldg: { pairing: "cyclic" },
};

/** The values of a draw, by the names of settings; none for draw 0, which is the defaults. @param {string} algorithm @param {{ draw: number, trial: number }} seeds @returns {Record<string, number>} */
export function drawnHparams(algorithm, { draw, trial }) {
  if (draw === 0) return {};
  const random = new RandomState(seedHash(draw, trial));
  const shared = Object.entries(SHARED)
    .map(([name, range]) => /** @type {const} */ ([name, range.draw(random)]))
    .filter(([name]) => !(name === "lr" && ADVERSARIES.includes(algorithm)));
  const own = Object.entries(OWN[algorithm]).map(([name, range]) => [`${algorithm}.${name}`, range.draw(random)]);
  return Object.fromEntries([...shared, ...own]);
}

/** All settings of a run that differ from the defaults of this project. @param {string} algorithm @param {{ draw: number, trial: number }} seeds @returns {Record<string, string | number>} */
export function settingsOf(algorithm, seeds) {
  const variants = Object.entries(VARIANTS[algorithm] ?? {}).map(([name, value]) => [`${algorithm}.${name}`, value]);
  return { ...drawnHparams(algorithm, seeds), ...Object.fromEntries(variants) };
}

/** The domains in DomainBed's order. */
const PLACES = ["+90%", "+80%", "-90%"];

/** The seed of a job of DomainBed's sweep, which also deals its digits. @param {{ title: string, domain: string, trial: number, draw: number }} job */
export const jobSeedOf = ({ title, domain, trial, draw }) =>
  seedHash("ColoredMNIST", title, [PLACES.indexOf(domain)], draw, trial);
