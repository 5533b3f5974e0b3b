import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { liveTensors } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { Linear } from "../nn/index.js";
import { Supports } from "./t3a.js";

/** The identity with the bias (0.5, 0), and one batch of three samples. */
function outputs(most: number): number[][] {
  return scope(() => {
    const classifier = new Linear(2, 2);
    classifier.loadStateDict(
      new Map([
        [
          "weight",
          tensor([
            [1, 0],
            [0, 1],
          ]),
        ], // prettier-ignore
        ["bias", tensor([0.5, 0])],
      ]),
    );
    using supports = new Supports(classifier, most);
    const scores = supports
      .scores(
        tensor([
          [3, 1],
          [1, 3],
          [2, 2],
        ]),
      )
      .toArray(); // prettier-ignore
    classifier.dispose();
    return scores as number[][];
  });
}

// Computed with the authors' formulas.
test.each([
  [
    1,
    [
      [3.1623, 1.8974],
      [1.8974, 3.1623],
      [2.5298, 2.5298],
    ],
  ],
  [
    2,
    [
      [3.1214, 1.4676],
      [1.4676, 3.1214],
      [2.2945, 2.2945],
    ],
  ],
])("with %i supports of each class the scores are those of the paper", (most, expected) => {
  const before = liveTensors();
  expectClose(outputs(most).flat(), expected.flat(), { atol: 1e-4, rtol: 0 });
  expect(liveTensors()).toBe(before);
});

test("all supports are kept at -1, and later batches depend on earlier ones", () => {
  scope(() => {
    const classifier = new Linear(2, 2);
    classifier.loadStateDict(
      new Map([
        [
          "weight",
          tensor([
            [1, 0],
            [0, 1],
          ]),
        ],
        ["bias", tensor([0, 0])],
      ]),
    ); // prettier-ignore
    using supports = new Supports(classifier, -1);
    const first = supports.scores(tensor([[1, 0.5]])).toNumbers();
    supports.scores(tensor([[3, 2.9]]));
    const again = supports.scores(tensor([[1, 0.5]])).toNumbers();
    expect(again[0]).not.toBeCloseTo(first[0], 6);
    expect(again[1]).toBeCloseTo(0.5, 6); // the second class still has only its own row
    classifier.dispose();
  });
});
