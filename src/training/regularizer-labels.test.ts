import { expect, test } from "vitest";
import { type AlgorithmDefinition, algorithms } from "../algorithms/index.js";
import { Mlp } from "../backbones/index.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { hparam, powerOfTen } from "../hparams.js";
import { defineRegularizer, type StepResult } from "../regularizers/index.js";
import { Learner } from "./learner.js";

/** Returns what a regularizer receives in one update of an algorithm on domains with two and three points. */
function received(
  algorithm: AlgorithmDefinition,
  hparams = {},
): { y?: number[]; domains?: number[]; logits?: number }[] {
  const seen: { y?: number[]; domains?: number[]; logits?: number }[] = [];
  const watching = defineRegularizer({
    id: "watching",
    title: "W",
    paper: "none",
    hparams: { weight: hparam(1, powerOfTen(-1, 1)) },
    penalty({ features, logits, y, domains }: StepResult) {
      seen.push({ y: y?.toNumbers(), domains: domains?.().toNumbers(), logits: logits?.rows });
      return features.sum().mul(0);
    },
  });
  using learner = new Learner({
    algorithm,
    makeBackbone: () => new Mlp({ inputShape: [2], width: 4 }).initialize(new Random(0)),
    classes: 2,
    domains: 2,
    hparams,
    regularizers: [watching()],
  });
  scope(() => {
    const part = (rows: number, label: number) => ({
      x: tensor(Array.from({ length: rows }, (_, i) => [i, label])),
      y: tensor(
        Array.from({ length: rows }, (_, i) => (i + label) % 2),
        { dtype: "int64" },
      ),
    });
    learner.update([part(2, 0), part(3, 1)], 0);
  });
  return seen;
}

const batch = { y: [0, 1, 1, 0, 1], domains: [0, 0, 1, 1, 1], logits: 5 };

test.each(["erm", "vrex", "iga", "sam", "urm", "sand-mask"])(
  "a regularizer on %s receives labels, domains and logits",
  (id) => {
    expect(received(algorithms[id])).toContainEqual(batch);
  },
);

test("rows of one domain have labels; mixed rows have none", () => {
  expect(received(algorithms.fish).map(({ y }) => y)).toEqual([[0, 1], [1, 0, 1]]); // biome-ignore format: pairs
  expect(received(algorithms.mixup, { betweenDomains: false })).toEqual([{ logits: 5 }]);
});
