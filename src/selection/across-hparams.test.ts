import { expect, test } from "vitest";
import { makeRun } from "../../tests/support/evaluated-runs.js";
import { keyedRandom } from "../engine/philox.js";
import type { EvaluatedRun } from "../records/evaluated-run.js";
import { groupRuns, rankHparams, selectGroups } from "./across-hparams.js";
import { leaveOneDomainOut, trainingDomain } from "./index.js";

/** Creates a run with one evaluation from its validation accuracy and its test accuracy. */
const run = (
  validation: number,
  tested: number,
  more: Partial<EvaluatedRun> & { algorithm?: string } = {},
): EvaluatedRun => makeRun(["a"], [{ a: [tested, 0], b: [0, validation], c: [0, validation] }], more);

const seedsBestFirst = (runs: readonly EvaluatedRun[]): number[] =>
  rankHparams({ runs, testDomain: "a" }, trainingDomain).map(({ hparamsSeed }) => hparamsSeed);

test("the draw with the best validation accuracy gives the result, in whatever order runs were read", () => {
  const runs = [
    run(0.5, 0.1, { hparamsSeed: 2 }),
    run(0.7, 0.2, { hparamsSeed: 0 }),
    run(0.6, 0.3, { hparamsSeed: 1 }),
  ];
  expect(seedsBestFirst(runs)).toEqual([0, 1, 2]);
  const [result] = selectGroups(runs, trainingDomain);
  expect(result).toMatchObject({ testDomain: "a", trialSeed: 0, hparamsSeed: 0, choice: { test: 0.2 } });
});

test("of draws with equal validation accuracy the largest seed wins", () => {
  expect(seedsBestFirst([0, 1, 2].map((hparamsSeed) => run(0.5, 0, { hparamsSeed })))).toEqual([2, 1, 0]);
});

test("a draw whose validation is NaN comes last; draws without a result are left out", () => {
  const runs = [
    run(Number.NaN, 0, { hparamsSeed: 5 }),
    run(0.1, 0, { hparamsSeed: 1 }),
    { ...run(0.9, 0, { hparamsSeed: 2 }), testDomains: ["a", "b"] },
    run(Number.NaN, 0, { hparamsSeed: 7 }),
  ];
  expect(seedsBestFirst(runs)).toEqual([1, 7, 5]);
});

test("a run belongs to a group for each of its test domains", () => {
  const pair = makeRun(["a", "b"], []);
  const groups = groupRuns([run(0.5, 0), pair, run(0.5, 0, { trialSeed: 1 }), run(0.5, 0, { algorithm: "irm" })]);
  expect(
    groups.map(({ trialSeed, method, testDomain, runs }) => [trialSeed, method.algorithm, testDomain, runs.length]),
  ).toEqual([
    [0, "erm", "a", 2],
    [0, "erm", "b", 1],
    [1, "erm", "a", 1],
    [0, "irm", "a", 1],
  ]);
});

test("other datasets, regularizers, averages and variants are other groups", () => {
  const method = run(0, 0).method;
  const groups = groupRuns([
    run(0.5, 0),
    run(0.5, 0, { dataset: "digits" }),
    run(0.5, 0, { method: { ...method, regularizers: ["nuclear-norm"] } }),
    run(0.5, 0, { method: { ...method, model: "swad" } }),
    run(0.5, 0, { method: { ...method, fixed: { scaling: "sum" } } }),
  ]);
  expect(groups.length).toBe(5);
});

test("groups without a result are not there: no pairs, no leave-one-domain-out", () => {
  expect(selectGroups([run(0.5, 0)], leaveOneDomainOut)).toEqual([]);
  expect(selectGroups([], trainingDomain)).toEqual([]);
});

test("on random searches the winner's validation is the maximum, and shuffling the runs does not change it", () => {
  const random = keyedRandom(0, "search");
  for (let trial = 0; trial < 300; trial++) {
    const runs = Array.from({ length: 1 + random.integer(8) }, (_, hparamsSeed) =>
      run(random.integer(5) / 4, random.uniform(), { hparamsSeed }),
    );
    const [result] = selectGroups(runs, trainingDomain);
    const best = Math.max(...runs.map(({ evaluations }) => evaluations[0].accuracy.get("b")!.out!));
    expect(result.choice.validation).toBe(best);
    const shuffled = Array.from(random.permutation(runs.length), (i) => runs[i]);
    expect(selectGroups(shuffled, trainingDomain)).toEqual([result]);
    // Adding a worse draw changes only the number of draws.
    expect(selectGroups([...runs, run(-1, 1, { hparamsSeed: 99 })], trainingDomain)).toEqual([
      { ...result, draws: runs.length + 1 },
    ]);
  }
});
