import { expect, test } from "vitest";
import type { Dataset } from "../data/dataset.js";
import { keyedRandom } from "../engine/philox.js";
import { curveText, curveWords } from "../report/curve-text.js";
import type { Plan } from "../settings/resolve.js";
import { gainOf, halvesOf, learningCurve, nextGain } from "./learning-curve.js";

const CLASSES = ["mug", "bike", "pen"];
const WIDTH = 9;
const EACH = 12;

/** Domains in which each class has its own axis, starting at a given axis. Each domain is shifted along another axis. */
function samplesOf(axes: Readonly<Record<string, number>>) {
  const domains = Object.entries(axes).map(([name, from], d) => {
    const labels = Int32Array.from({ length: CLASSES.length * EACH }, (_, i) => Math.floor(i / EACH));
    const draws = keyedRandom(0, "noise", d);
    const noise = Array.from({ length: labels.length * WIDTH }, () => draws.normal());
    const read = (i: number): Float32Array =>
      Float32Array.from(
        { length: WIDTH },
        (_, k) => noise[i * WIDTH + k] + (k === from + labels[i] ? 3 : 0) + (k === 6 + d ? 4 : 0),
      );
    return { name, labels, count: labels.length, read };
  });
  const split = new Map(
    domains.map(({ name, labels }) => {
      const places = [...labels.keys()];
      return [name, { in: places.filter((i) => i % 4 > 0), out: places.filter((i) => i % 4 === 0), uda: [] }];
    }),
  );
  const dataset = { inputShape: [WIDTH], domains, classes: CLASSES } as unknown as Dataset;
  const names = Object.keys(axes);
  const settings = { domains: names, testDomains: [], classes: CLASSES, hparams: {}, device: "cpu" };
  return { samples: { dataset, split }, plan: { dataset, settings } as unknown as Plan };
}

test("labelled pictures of a source that differs help there, and the curve says by how much", () => {
  const { samples, plan } = samplesOf({ shop: 0, street: 0, odd: 3 });
  const curve = learningCurve(samples, plan);
  expect(curve.by).toBe("held-out domains");
  expect(curve.folds).toEqual([["shop"], ["street"], ["odd"]]);
  expect(curve.sizes.map(({ pictures }) => pictures)).toEqual([9, 18, 36, 72]);
  const odd = curve.newSource.find(({ domain }) => domain === "odd")!.points;
  expect(odd.map(({ perClass }) => perClass)).toEqual([0, 1, 2, 4]);
  expect(odd[0].accuracy).toBeLessThan(0.5); // the other domains contain no information about its axes
  expect(odd.at(-1)!.accuracy).toBeGreaterThan(0.6);
  const adds = Object.fromEntries(curve.sources.map(({ domains, gain }) => [domains[0], gain]));
  expect(adds.odd).toBeLessThan(Math.max(adds.shop, adds.street));
  expect(learningCurve(samples, plan)).toEqual(curve); // the result is deterministic
  expect(curveText(curve)).toMatch(/new domain\s+0 a class\s+1 a class/);
});

test("with one domain the curve is measured on validation pictures, and says so", () => {
  const { samples, plan } = samplesOf({ shop: 0 });
  const curve = learningCurve(samples, plan);
  expect(curve).toMatchObject({ by: "validation", folds: [["shop"]], sources: [], newSource: [] });
  expect(curveWords(curve).at(-1)).toContain("not of new ones");
});

test("a gain has the standard error of paired differences, and gains go on shrinking", () => {
  expect(gainOf([[0, 1, 0, 1]], [[1, 1, 1, 1]])).toEqual({ gain: 0.5, error: Math.sqrt(0.25 / 3) });
  expect(nextGain([0.5, 0.7, 0.8])).toBeCloseTo(0.05);
  expect(nextGain([0.5, 0.7, 0.69])).toBeNull();
  expect(nextGain([0.7, 0.8, 0.99])).toBeCloseTo(0.01); // never above 100 %
});

test("a curve that fell once has no forecast, and the text says so", () => {
  const accuracies = [0.709, 0.75, 0.741, 0.765];
  expect(nextGain(accuracies)).toBeNull();
  const { samples, plan } = samplesOf({ shop: 0, street: 0 });
  const curve = learningCurve(samples, plan);
  const [words] = curveWords({ ...curve, doubling: { gain: 0.024, error: 0.009, next: nextGain(accuracies) } });
  expect(words).toBe(
    "The last doubling of the pictures brought +2.4 ± 0.9 points. The doubling before it brought none, so there is no forecast for the next one.",
  );
});

test("the halves of a new source are equal, and near-duplicates are in the same half", () => {
  const classes = [
    [4, 0, 2, 6],
    [7, 1, 5, 3],
  ];
  const none = new Array<undefined>(8).fill(undefined);
  expect(halvesOf(classes, none)).toEqual([
    [4, 2, 7, 5],
    [0, 6, 1, 3],
  ]);
  const groups = [1, undefined, undefined, undefined, 1, undefined, undefined, undefined];
  expect(halvesOf(classes, groups)).toEqual([
    [4, 0, 7, 5],
    [2, 6, 1, 3],
  ]);
});
