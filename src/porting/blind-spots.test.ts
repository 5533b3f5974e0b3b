import { expect, test } from "vitest";
import { blindSpots } from "./blind-spots.js";
import type { ParityCase } from "./parity-file.js";

const about = { algorithm: "mine", hparams: {}, classes: 3, domains: 2, updates: 2 } as unknown as ParityCase;
const later = "nothing after update 2 is tested, such as a penalty that starts later";

test("minibatches with equal counts, all classes and one size hide three kinds of errors", () => {
  const even = [
    [
      [0, 1, 2],
      [2, 0, 1],
    ],
    [
      [1, 0, 2],
      [1, 2, 0],
    ],
  ];
  expect(blindSpots([{ about, labels: even }])).toEqual([
    "every update has as many samples of each class, so a term that depends on their frequency cancels",
    "every domain has every class in every update, so what happens without one is not tested",
    "all minibatches have 3 samples, so a wrong factor of the size of a batch is not visible",
    later,
  ]);
});

test("cases are judged together: what one of them shows is shown", () => {
  const even = {
    about,
    labels: [
      [
        [0, 1, 2],
        [2, 0, 1],
      ],
    ],
  };
  const uneven = {
    about,
    labels: [
      [
        [0, 0, 1, 0],
        [2, 0, 0, 0],
      ],
    ],
  };
  expect(blindSpots([even, uneven])).toEqual([later]);
});

test("a single domain shows nothing between domains", () => {
  expect(blindSpots([{ about, labels: [[[0, 0]], [[1, 1, 2]]] }])).toEqual([
    "there is one domain, so nothing between domains is tested",
    later,
  ]);
});
