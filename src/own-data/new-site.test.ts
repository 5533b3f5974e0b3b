import { expect, test } from "vitest";
import { kolmogorovSmirnov } from "../analysis/two-sample.js";
import { empty } from "../engine/ops.generated.js";
import { keyedRandom } from "../engine/philox.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import type { ModelAbout } from "../model/about.js";
import { adaptHead } from "./adapt-head.js";
import { describeSite } from "./new-site.js";
import { pickPictures } from "./pick-pictures.js";

const numbers = (count: number, ...key: (string | number)[]): number[] => {
  const random = keyedRandom(0, ...key);
  return Array.from({ length: count }, () => random.uniform());
};

test("the two-sample test has its level where nothing differs, and finds a shift", () => {
  // SciPy: ks_2samp([1, 2, 3], [2.5, 3.5, 4.5, 5.5]).statistic = 0.75 (only 3 is above 2.5).
  expect(kolmogorovSmirnov([1, 2, 3], [2.5, 3.5, 4.5, 5.5]).statistic).toBeCloseTo(0.75);
  const rate = (shift: number): number => {
    const alarms = Array.from({ length: 400 }, (_, i) => {
      const a = numbers(80, "a", i);
      return (
        kolmogorovSmirnov(
          a.map((value) => value + shift),
          numbers(300, "b", i),
        ).p < 0.05
      );
    });
    return alarms.filter(Boolean).length / alarms.length;
  };
  expect(rate(0)).toBeGreaterThan(0.02);
  expect(rate(0)).toBeLessThan(0.08);
  expect(rate(0.3)).toBeGreaterThan(0.95);
});

const about = {
  classes: ["cup", "pen", "key"],
  distance: { fitted: 9, compared: 9 },
  calibration: {
    temperature: 1,
    count: 9,
    quantiles: [0.5, 0.7, 1],
    heldOut: { domains: ["a", "b"], thresholds: [0.7, 0.8], errors: [], calibrationError: 0.1, percentiles: [] },
  },
} as unknown as ModelAbout;

/** A picture whose predicted class has about this probability. */
const picture = (name: string, label: number, probability: number) => {
  const logits = [0, 1, 2].map((k) => Math.log(k === label ? probability : (1 - probability) / 2));
  return { name, prediction: { label: about.classes[label], probability, logits, distance: null } };
};

test("a site is described by its estimate, its classes and its odd pictures", () => {
  const sure = Array.from({ length: 40 }, (_, i) => picture(`cup${i}`, 0, 0.95));
  const doubtful = Array.from({ length: 20 }, (_, i) => picture(`pen${i}`, 1, 0.45));
  const report = describeSite(about, [...sure, ...doubtful], null);
  expect(report.estimate!.thresholded).toBeCloseTo(40 / 60);
  expect(report.estimate!.confidence).toBeCloseTo((40 * 0.95 + 20 * 0.45) / 60);
  expect(report.classes.map(({ count, odd }) => [count, odd])).toEqual([
    [40, false],
    [20, true],
    [0, false],
  ]);
  expect(report.unknown).toBe(20); // below the 2 % quantile of correct predictions
  expect(report.odd[0]).toMatchObject({ name: "pen0", why: "uncertain" });
  expect(report.temperature.matched).toBeGreaterThan(0);
  const without = describeSite({ ...about, calibration: null }, sure, null);
  expect(without).toMatchObject({ estimate: null, difference: null });
});

test("half of the picks are random, and the others uncertain and different from each other", () => {
  // Ten sure pictures in one direction; uncertain ones in two directions, five copies of each.
  const directions = [...Array(10).fill([1, 0, 0]), ...Array(5).fill([0, 1, 0]), ...Array(5).fill([0, 0, 1])];
  const logits = directions.map(([sure]) => (sure === 1 ? [9, 0] : [0.1, 0]));
  using features = tensor(directions);
  const picks = pickPictures(features, logits, 2, { random: 0 });
  expect(picks.map(({ why }) => why)).toEqual(["uncertain", "uncertain"]);
  const found = picks.map(({ place }) => directions[place].indexOf(1));
  expect(found.toSorted()).toEqual([1, 2]); // one of each direction, and no copy
  const half = pickPictures(features, logits, 6, { seed: 3 });
  expect(half.filter(({ why }) => why === "random")).toHaveLength(3);
  expect(new Set(half.map(({ place }) => place)).size).toBe(6);
  expect(pickPictures(features, logits, 50)).toHaveLength(20);
});

test("new pictures move the classifier to the new site, and a better old classifier stays", () =>
  scope(() => {
    const random = new Random(1);
    const noise = (count: number) => random.normal_(empty([count, 4]), 0, 0.3);
    const labels = Array.from({ length: 60 }, (_, i) => i % 2);
    // Another feature tells the classes apart on the new site.
    const rows = (at: number, count: number) =>
      noise(count).add(
        tensor(labels.slice(0, count).map((label) => [0, 1, 2, 3].map((k) => (k === at ? 1 - 2 * label : 0)))),
      );
    const training = { x: rows(0, 60), labels };
    const fresh = { x: rows(2, 30), labels: labels.slice(0, 30) };
    const options = { classes: 2, c: 0.01, neighbours: true };
    const wrong = fresh.labels.map((label) => (label === 0 ? [0, 1] : [1, 0]));
    const { right, head } = adaptHead(training, fresh, { ...options, old: wrong });
    expect(right.old).toBe(0);
    expect(right.adapted).toBeGreaterThan(25);
    expect(head!.neighbours!.rows.rows).toBe(90);
    const perfect = fresh.labels.map((label) => (label === 0 ? [1, 0] : [0, 1]));
    const scrambled = { ...fresh, x: noise(30) };
    expect(adaptHead(training, scrambled, { ...options, old: perfect }).head).toBeNull();
  }));
