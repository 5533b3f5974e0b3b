import { expect, test } from "vitest";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import {
  chooseStrength,
  closestToUsual,
  fitProbe,
  type LabelledFeatures,
  rightOf,
  STRENGTHS,
} from "./choose-strength.js";
import { nearCopyGroups, nearestElsewhere } from "./near-copies.js";

const CLASSES = 3;
const WIDTH = 12;

/** Features of some objects of each class: class centre, then the object, then the domain's shift, then noise. */
function domain(
  name: string,
  { objects, shift, noise = 0.3 }: { objects: string; shift: number; noise?: number },
): LabelledFeatures {
  const rows: number[][] = [];
  const labels: number[] = [];
  const numbers = (of: string, size: number): number[] => {
    const random = keyedRandom(1, of);
    return Array.from({ length: WIDTH }, () => size * (2 * random.uniform() - 1));
  };
  for (let k = 0; k < CLASSES; k++)
    for (let i = 0; i < 20; i++) {
      const parts = [
        numbers(`class ${k}`, 1),
        numbers(`${objects} ${k} ${i % 10}`, 1),
        numbers(`domain ${name}`, shift),
        numbers(`${name} ${k} ${i}`, noise),
      ];
      rows.push(parts[0].map((_, j) => parts.reduce((sum, part) => sum + part[j], 0)));
      labels.push(k);
    }
  return { x: tensor(rows), labels };
}

test("domains with the same objects are near-copies, and others are not", () => {
  scope(() => {
    const [a, b, c] = [
      domain("a", { objects: "first", shift: 3 }),
      domain("b", { objects: "second", shift: 0.1 }),
      domain("c", { objects: "second", shift: 0.1 }),
    ].map(({ x }) => x);
    expect(nearCopyGroups([a, b, c])).toEqual([[0], [1, 2]]);
    expect(nearCopyGroups([b, a, c])).toEqual([[0, 2], [1]]);
    expect(nearestElsewhere([a, b])[0][1]).toBe(0);
    expect(nearCopyGroups([a])).toEqual([[0]]);
  });
});

test("the strength is chosen on held-out groups, and what each got right is kept picture by picture", () => {
  scope(() => {
    const groups = ["a", "b", "c"].map((name) => [domain(name, { objects: name, shift: 1 })]);
    const { c, by, right, scores, chosen } = chooseStrength(groups, { classes: CLASSES });
    expect(by).toBe("domains");
    expect(right).toHaveLength(STRENGTHS.length);
    expect(right[0].map(({ length }) => length)).toEqual([60, 60, 60]);
    // By hand: the fit without the first group, on the first group.
    const [fit] = fitProbe(groups.slice(1).flat(), [c], { classes: CLASSES });
    const alone = rightOf(fit, groups[0][0]);
    expect(Array.from(right[chosen][0])).toEqual(Array.from(alone));
    expect(scores[chosen].below).toBeLessThanOrEqual(scores[chosen].error + 1e-12);
  });
});

test("with one group, parts of it are held out, and nothing of that is left behind", () => {
  scope(() => {
    const group = [domain("a", { objects: "a", shift: 1 }), domain("b", { objects: "a", shift: 1 })];
    const { by, right, c, chosen, best, scores } = chooseStrength([group], { classes: CLASSES });
    expect(by).toBe("parts");
    const usual = scores[STRENGTHS.indexOf(0.01)];
    expect(usual.below).toBeLessThanOrEqual(usual.error);
    expect(c).toBe(0.01);
    expect(scores[chosen].below).toBe(scores[best].mean - usual.mean);
    expect(right[0].map(({ length }) => length)).toEqual(Array.from({ length: 10 }, () => 12));
    expect(group[0].x.isDisposed).toBe(false);
  });
});

test("of the strengths within one standard error of the best, the closest to 0.01 is chosen", () => {
  scope(() => {
    const groups = ["a", "b", "c"].map((name) => [domain(name, { objects: name, shift: 1 })]);
    const distance = (c: number): number => Math.abs(Math.log(c / 0.01));
    const { c, scores, best } = chooseStrength(groups, { classes: CLASSES });
    const within = STRENGTHS.filter((_, i) => scores[i].below <= scores[i].error + 1e-12);
    expect(within).toContain(STRENGTHS[best]);
    expect(distance(c)).toBe(Math.min(...within.map(distance)));
  });
});

test("two groups are weaker evidence than three, so a strength must be two standard errors better than 0.01", () => {
  const scores = [0.002, 0, 0.015].map((below) => ({ mean: 0.9 - below, below, error: 0.01 }));
  const strengths = [3e-4, 1e-3, 1e-2];
  expect(closestToUsual({ scores }, strengths, 3)).toBe(1);
  expect(closestToUsual({ scores }, strengths, 2)).toBe(2);
  const clearer = scores.map((score) => ({ ...score, error: 0.007 }));
  expect(closestToUsual({ scores: clearer }, strengths, 2)).toBe(1);
});

test("penalties much weaker than 0.01 are not tried", () => {
  expect(Math.max(...STRENGTHS)).toBe(0.03);
});

test("rare classes count as much as frequent ones", () => {
  scope(() => {
    const groups = ["a", "b", "c"].map((name) => {
      const { x, labels } = domain(name, { objects: name, shift: 1, noise: 1.5 });
      const kept = Array.from(labels).flatMap((label, i) => (label === 0 && i % 20 > 1 ? [] : [i])); // 2, 20 and 20
      return [{ x: x.take(kept), labels: kept.map((i) => labels[i]) }];
    });
    const { right, scores } = chooseStrength(groups, { classes: CLASSES });
    const mean = (values: number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;
    for (const [i, domains] of right.entries()) {
      const recalls = domains.flatMap((own, d) => {
        const { labels } = groups[d][0];
        return [0, 1, 2].map((label) => mean(Array.from(own).filter((_, at) => labels[at] === label)));
      });
      expect(scores[i].mean).toBeCloseTo(mean(recalls), 12);
    }
  });
});

test("with one group, no strength weaker than 0.01 is chosen, even if parts of the group favour it", () => {
  scope(() => {
    const group = [domain("a", { objects: "a", shift: 0, noise: 2 })];
    const weak = [0.01, 1, 100];
    expect(chooseStrength([group], { classes: CLASSES }, weak).c).toBe(0.01);
  });
});
