import { expect, test } from "vitest";
import {
  accuracyByClass,
  accuracyByDomain,
  confusionMatrix,
  mostConfused,
  mostWrong,
  overall,
  shareOf,
} from "./assess.js";
import { judgedAs } from "./judged.fixture.js";
import { judge, softmax } from "./judged.js";

const classes = ["cat", "dog", "fox"];
const pictures = [
  judgedAs(0, 0, 0.9, { domain: "photo" }),
  judgedAs(0, 1, 0.8, { domain: "sketch", name: "b" }),
  judgedAs(1, 1, 0.7, { domain: "photo" }),
  judgedAs(1, 0, 0.99, { domain: "sketch", name: "surest" }),
  judgedAs(1, 0, 0.8, { domain: "sketch", name: "a" }),
];

test("adding a constant to all logits does not change the result", () => {
  const about = { name: "x", domain: "d", label: 1 };
  for (const shift of [0, 1000, -1000]) {
    const { predicted, confidence, truth, loss, brier } = judge([shift + Math.log(3), shift, shift], about);
    expect(predicted).toBe(0);
    expect([confidence, truth, loss]).toEqual([0.6, 0.2, Math.log(5)].map((value) => expect.closeTo(value, 9)));
    expect(brier).toBeCloseTo(0.6 ** 2 + 0.8 ** 2 + 0.2 ** 2, 9);
  }
});

test("the loss stays exact where the probability of the truth rounds to nothing", () => {
  const { truth, loss } = judge([2000, 0], { name: "x", domain: "d", label: 1 });
  expect([truth, loss]).toEqual([0, 2000]);
});

test("of several classes with equal probability, the first is predicted", () => {
  expect(judge([1, 1], { name: "x", domain: "d", label: 1 }).predicted).toBe(0);
  expect(softmax([1, 1])).toEqual(Float64Array.of(0.5, 0.5));
});

test("logits that are not finite and unknown classes are refused", () => {
  expect(() => judge([1, Number.NaN], { name: "x", domain: "d", label: 0 })).toThrow(
    "judging x: expected finite logits",
  );
  expect(() => judge([1, 2], { name: "x", domain: "d", label: 2 })).toThrow("expected a class from 0 to 1, got 2");
});

test("accuracy by domain counts each domain's own pictures", () => {
  expect(accuracyByDomain(pictures)).toMatchObject([
    { domain: "photo", count: 2, right: 2, accuracy: 1 },
    { domain: "sketch", count: 3, right: 0, accuracy: 0 },
  ]);
});

test("accuracy by class is the recall, and goes with the precision", () => {
  expect(accuracyByClass(pictures, classes)).toMatchObject([
    { name: "cat", count: 2, right: 1, accuracy: 0.5, said: 3, precision: 1 / 3 },
    { name: "dog", count: 3, right: 1, accuracy: 1 / 3, said: 2, precision: 0.5 },
    { name: "fox", count: 0, accuracy: Number.NaN, said: 0, precision: Number.NaN },
  ]);
});

test("the balanced accuracy is the mean over classes that have pictures", () => {
  const { accuracy, balancedAccuracy, loss } = overall(pictures, classes);
  expect(accuracy).toBe(0.4);
  expect(balancedAccuracy).toBeCloseTo((1 / 2 + 1 / 3) / 2, 12);
  expect(loss).toBeCloseTo(-Math.log(0.9 * 0.2 * 0.7 * 0.01 * 0.2) / 5, 9);
});

test("the confusion matrix has a row per true class and a column per predicted class", () => {
  const matrix = confusionMatrix(pictures, 3);
  expect(matrix).toEqual([[1, 1, 0], [2, 1, 0], [0, 0, 0]]); // biome-ignore format: a matrix
  expect(mostConfused(matrix)).toEqual([
    { label: 1, predicted: 0, count: 2 },
    { label: 0, predicted: 1, count: 1 },
  ]);
});

test("the most wrong are the surest mistakes, and equals are in the order of their names", () => {
  expect(mostWrong(pictures).map(({ name }) => name)).toEqual(["surest", "a", "b"]);
  expect(mostWrong(pictures, 1)).toHaveLength(1);
});

test("an interval is Wilson's: 8 of 10 is 0.490 to 0.943", () => {
  // Newcombe, Statistics in Medicine 1998, gives the method; these two by hand from its formula.
  expect(shareOf(8, 10).interval).toEqual([expect.closeTo(0.4902, 4), expect.closeTo(0.9433, 4)]);
  expect(shareOf(0, 10).interval).toEqual([0, expect.closeTo(0.2775, 4)]);
  expect(shareOf(0, 0)).toMatchObject({ accuracy: Number.NaN, interval: [0, 1] });
});
