import { expect, test } from "vitest";
import { judgedAs } from "./judged.fixture.js";
import { pairedModels } from "./paired-models.js";

/** Pictures by number, those named judged rightly. */
const judged = (count: number, right: (i: number) => boolean) =>
  Array.from({ length: count }, (_, i) => judgedAs(0, right(i) ? 0 : 1, 0.9, { name: `${i}.png` }));

test("what only one of two models is right about is their difference", () => {
  const first = judged(10, (i) => i < 6);
  const second = judged(10, (i) => i >= 2);
  expect(pairedModels(first, second)).toMatchObject({
    ...{ count: 10, onlyFirst: 2, onlySecond: 4 },
    ...{ first: { right: 6 }, second: { right: 8 }, difference: 0.2 },
  });
});

test("the interval is that of Agresti and Min: theirs of 12 and 6 discordant in 100 by hand", () => {
  const first = judged(100, (i) => i < 60);
  const second = judged(100, (i) => (i >= 6 && i < 60) || (i >= 60 && i < 72));
  const { interval } = pairedModels(first, second);
  // (12.5 − 6.5) / 102 ± 1.96 √(19 − 36 / 102) / 102
  expect(interval[0]).toBeCloseTo(0.058824 - 0.082978, 5);
  expect(interval[1]).toBeCloseTo(0.058824 + 0.082978, 5);
});

test("two models that agree on every picture have a difference of zero, and few pictures give a wide interval", () => {
  const { difference, interval } = pairedModels(
    judged(4, () => true),
    judged(4, () => true),
  );
  expect(difference).toBe(0);
  expect(interval[1]).toBeGreaterThan(0.25);
  expect(interval[0]).toBeCloseTo(-interval[1], 12);
});

test("pictures are paired by name, and those of only one model are skipped", () => {
  const first = judged(3, () => true);
  const second = judged(5, () => false).reverse();
  expect(pairedModels(first, second)).toMatchObject({ count: 3, onlyFirst: 3, difference: -1 });
});
