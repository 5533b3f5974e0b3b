import { expect, test } from "vitest";
import { liveTensors } from "../engine/device.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import {
  type DomainFeatures,
  distancesTo,
  fitDistance,
  readDistance,
  shareBelow,
  storedDistance,
} from "./domain-distance.js";

const WIDTH = 12;
const DOMAINS = 2;
const CLASSES = 3;

/** Features of a domain: 5 along the axis of the domain, 5 along the axis of the class, and noise. */
function features(domain: number, count: number, seed: string, axis = domain): DomainFeatures {
  const labels = Array.from({ length: count }, (_, i) => i % CLASSES);
  const rows = labels.map((label) =>
    Array.from({ length: WIDTH }, (_, j) => (j === axis ? 5 : 0) + (j === DOMAINS + label ? 5 : 0)),
  );
  const noise = new Random(0, [seed, domain]).normal_(empty([count, WIDTH])).mul(0.5);
  return { features: noise.add(tensor(rows)), labels };
}

const fitted = () => {
  const trained = [features(0, 60, "in"), features(1, 60, "in")];
  const { features: held } = features(0, 90, "out");
  return fitDistance(trained, held)!;
};

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const sharesOf = (statistics: ReturnType<typeof fitted>, x: Tensor): number[] => {
  const quantiles = statistics.quantiles.data() as Float32Array;
  return distancesTo(statistics, x).map(({ score }) => shareBelow(quantiles, score));
};

test("pictures like those of training lie at a distance of about 1, half of the others nearer", () =>
  scope(() => {
    const statistics = fitted();
    const { features: like } = features(1, 90, "new");
    expect(meanOf(distancesTo(statistics, like).map(({ score }) => score))).toBeCloseTo(1, 0);
    expect(meanOf(sharesOf(statistics, like))).toBeGreaterThan(0.35);
    expect(meanOf(sharesOf(statistics, like))).toBeLessThan(0.65);
  }));

test("pictures of a new domain lie farther than nearly all others, also where their features are smaller", () =>
  scope(() => {
    const statistics = fitted();
    const { features: strange } = features(0, 30, "strange", WIDTH - 1);
    for (const factor of [1, 0.1, 10]) expect(meanOf(sharesOf(statistics, strange.mul(factor)))).toBeGreaterThan(0.95);
  }));

test("the nearest domain is the one a picture is of", () =>
  scope(() => {
    const statistics = fitted();
    for (const domain of [0, 1]) {
      const nearest = distancesTo(statistics, features(domain, 30, "new").features).map((each) => each.nearest);
      expect(nearest.filter((each) => each === domain).length).toBeGreaterThan(27);
    }
  }));

test("a distance is the formula's: one cell, by hand", () =>
  scope(() => {
    // Unit rows (1, 0), (0, 1): mean (½, ½) and variances ½, both with and without shrinkage.
    const trained = [{ features: tensor([[2, 0], [0, 3]]), labels: [0, 0] }]; // biome-ignore format: a matrix
    const statistics = fitDistance(trained, tensor([[5, 0]]))!; // biome-ignore format: a row
    expect(distancesTo(statistics, tensor([[0, 7]]))[0].score).toBeCloseTo(Math.sqrt(0.5), 6);
    expect(distancesTo(statistics, tensor([[3, 4]]))[0].score).toBeCloseTo(
      Math.sqrt((0.1 ** 2 + 0.3 ** 2) / 0.5 / 2),
      6,
    );
  }));

test("with few pictures cells are classes, and with fewer there is no score", () =>
  scope(() => {
    const few = [features(0, 9, "in"), features(1, 9, "in")];
    expect(fitDistance(few, few[0].features)?.means.shape).toEqual([CLASSES, WIDTH]);
    expect(fitted().means.shape).toEqual([DOMAINS * CLASSES, WIDTH]);
    expect(fitDistance([features(0, CLASSES, "in")], few[0].features)).toBe(null); // one picture of each class
    expect(fitDistance([], few[0].features)).toBe(null);
    const same = { features: tensor([[1, 2], [1, 2]]), labels: [0, 0] }; // biome-ignore format: a matrix
    expect(fitDistance([same], same.features)).toBe(null);
  }));

test("features that are all zero have a finite distance", () =>
  scope(() => {
    const [{ score }] = distancesTo(fitted(), tensor([new Array(WIDTH).fill(0)]));
    expect(Number.isFinite(score)).toBe(true);
  }));

test("statistics are restored from their tensors, and invalid ones are refused", () =>
  scope(() => {
    const tensors = storedDistance(fitted());
    const expected = { domains: DOMAINS, width: WIDTH };
    expect(readDistance("m", tensors, expected).means.shape).toEqual([6, WIDTH]);
    const without = new Map([...tensors].slice(1));
    expect(() => readDistance("m", without, expected)).toThrow(DataError);
    expect(() => readDistance("m", tensors, { ...expected, domains: 3 })).toThrow("does not match 3 domains");
    const negative = new Map(tensors).set("distance/variances", tensor(new Array(WIDTH).fill(-1)));
    expect(() => readDistance("m", negative, expected)).toThrow("expected positive numbers");
    const empties = new Map(tensors).set("distance/quantiles", empty([0]));
    expect(() => readDistance("m", empties, expected)).toThrow("distance/quantiles");
  }));

test("no tensors remain", () => {
  const before = liveTensors();
  scope(() => void fitted());
  expect(liveTensors()).toBe(before);
});
