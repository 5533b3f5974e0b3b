import { expect, test } from "vitest";
import { type HandMade, makeRun } from "../../tests/support/evaluated-runs.js";
import { keyedRandom, type Philox } from "../engine/philox.js";
import { UsageError } from "../errors.js";
import type { EvaluatedRun } from "../records/evaluated-run.js";
import { leaveOneDomainOut, oracle, selectionNamed, selections, trainingDomain } from "./index.js";

const nan = Number.NaN;

/** Returns the properties of a choice that the tests compare. */
function chosen(
  run: ReturnType<typeof trainingDomain.select>,
): [validation: number, test: number, step: number] | null {
  return run && [run.validation, run.test, run.step];
}

test("training-domain validation takes the step with the best mean accuracy on the training domains' out", () => {
  const run = makeRun(
    ["a"],
    [
      { a: [0.1, 0.9], b: [0, 0.6], c: [0, 0.7] },
      { a: [0.3, 0.1], b: [0, 0.7], c: [0, 0.8] },
    ],
  );
  const choice = trainingDomain.select([run], "a");
  expect(chosen(choice)).toEqual([0.75, 0.3, 100]);
  expect(choice?.run).toBe(run);
});

test("training-domain validation takes the earliest of equal steps, and the first run's", () => {
  const at = (test: number): HandMade => ({ a: [test, 0], b: [0, 0.5], c: [0, 0.5] });
  expect(chosen(trainingDomain.select([makeRun(["a"], [at(0.1), at(0.2)])], "a"))).toEqual([0.5, 0.1, 0]);
  const two = [makeRun(["a"], [at(0.3)]), makeRun(["a"], [at(0.4)])];
  expect(trainingDomain.select(two, "a")?.run).toBe(two[0]);
});

test("selection ignores runs with two test domains, but leave-one-domain-out needs them", () => {
  const perfect = { a: [1, 1], b: [1, 1], c: [1, 1] } as const;
  const pair = makeRun(["a", "b"], [perfect]);
  for (const method of [trainingDomain, oracle, leaveOneDomainOut]) expect(method.select([pair], "a")).toBeNull();
  const single = makeRun(["a"], [{ a: [0.2, 0.1], b: [0, 0.3], c: [0, 0.4] }]);
  expect(chosen(trainingDomain.select([pair, single], "a"))).toEqual([0.35, 0.2, 0]);
  expect(chosen(oracle.select([pair, single], "a"))).toEqual([0.1, 0.2, 0]);
});

test("NaN is not filtered: one that comes first stays, a later one never wins", () => {
  const at = (out: number, test: number): HandMade => ({ a: [test, 0], b: [0, out], c: [0, 0.5] });
  expect(chosen(trainingDomain.select([makeRun(["a"], [at(nan, 0.1), at(0.9, 0.2)])], "a"))).toEqual([nan, 0.1, 0]);
  expect(chosen(trainingDomain.select([makeRun(["a"], [at(0.5, 0.1), at(nan, 0.2)])], "a"))).toEqual([0.5, 0.1, 0]);
});

test("the oracle takes the last step, even a worse one, and the later of two with the same step", () => {
  const run = makeRun(
    ["a"],
    [
      { a: [0.8, 0.9], b: [0, 0], c: [0, 0] },
      { a: [0.2, 0.3], b: [0, 0], c: [0, 0] },
    ],
  );
  expect(chosen(oracle.select([run], "a"))).toEqual([0.3, 0.2, 100]);
  const again = makeRun(
    ["a"],
    [
      { a: [0.9, 0.9], b: [0, 0], c: [0, 0] },
      { a: [0.6, 0.5], b: [0, 0], c: [0, 0] },
    ],
  );
  expect(chosen(oracle.select([run, again], "a"))).toEqual([0.5, 0.6, 100]);
});

const single = (...tests: number[]): EvaluatedRun =>
  makeRun(
    ["a"],
    tests.map((test) => ({ a: [test, 0], b: [0, 0], c: [0, 0] })),
  );
const withB = (...values: number[]): EvaluatedRun =>
  makeRun(
    ["a", "b"],
    values.map((value) => ({ a: [0, 0], b: [value, 0], c: [0, 0] })),
  );
const withC = (...values: number[]): EvaluatedRun =>
  makeRun(
    ["c", "a"],
    values.map((value) => ({ a: [0, 0], b: [0, 0], c: [value, 0] })),
  );

test("leave-one-domain-out judges a step by the domain held out besides", () => {
  expect(chosen(leaveOneDomainOut.select([single(0.1), withB(0.5), withC(0.6)], "a"))).toEqual([0.55, 0.1, 0]);
});

test("leave-one-domain-out drops steps that lack a run, and takes the smallest of equal steps", () => {
  const runs = [single(0.1, 0.2, 0.3, 0.4), withB(0.5, 0.7, 0.7, 0.9), withC(0.6, 0.7, 0.7)];
  expect(chosen(leaveOneDomainOut.select(runs, "a"))).toEqual([0.7, 0.2, 100]);
  expect(leaveOneDomainOut.select([single(0.1), withB(0.5)], "a")).toBeNull();
  expect(leaveOneDomainOut.select([withB(0.5), withC(0.6)], "a")).toBeNull();
});

test("leave-one-domain-out drops steps with two runs to report, and takes the last of two for a pair", () => {
  const pairs = [withB(0.5, 0.5), withC(0.6, 0.6)];
  expect(chosen(leaveOneDomainOut.select([single(0.1, 0.2), single(0.3), ...pairs], "a"))).toEqual([0.55, 0.2, 100]);
  expect(chosen(leaveOneDomainOut.select([single(0.1), ...pairs, withB(0.9)], "a"))).toEqual([0.75, 0.1, 0]);
});

test("an accuracy of NaN in a pair is a value, not a missing run", () => {
  expect(chosen(leaveOneDomainOut.select([single(0.1), withB(nan), withC(0.6)], "a"))).toEqual([nan, 0.1, 0]);
});

test("selection methods are found by id, in the order of the reference's tables", () => {
  expect(Object.keys(selections)).toEqual(["training-domain", "leave-one-domain-out", "oracle"]);
  expect(selectionNamed("oracle")).toBe(oracle);
  expect(() => selectionNamed("training")).toThrow(UsageError);
  expect(() => selectionNamed("oracel")).toThrow('did you mean "oracle"?');
});

/** Creates random runs for every test domain and every pair. The values are multiples of 1/20, so there are ties. */
function randomRuns(random: Philox): EvaluatedRun[] {
  const steps = 1 + random.integer(5);
  const value = (): number => random.integer(21) / 20;
  const at = (): HandMade => ({ a: [value(), value()], b: [value(), value()], c: [value(), value()] });
  const tests = [["a"], ["a", "b"], ["c", "a"]];
  return tests.map((testDomains) => makeRun(testDomains, Array.from({ length: steps }, at)));
}

test("on random runs every choice is one of the evaluations, and no step of the run beats it", () => {
  const random = keyedRandom(0, "selection");
  for (let trial = 0; trial < 300; trial++) {
    const runs = randomRuns(random);
    const [reported, onB, onC] = runs;
    for (const method of [trainingDomain, leaveOneDomainOut, oracle]) {
      const choice = method.select(runs, "a")!;
      const i = choice.step / 100;
      expect(choice.run).toBe(reported);
      expect(choice.test).toBe(reported.evaluations[i].accuracy.get("a")!.in);
    }
    const values = reported.evaluations.map(({ accuracy }) => (accuracy.get("b")!.out! + accuracy.get("c")!.out!) / 2);
    expect(trainingDomain.select(runs, "a")!.step / 100).toBe(values.indexOf(Math.max(...values)));
    const crossed = onB.evaluations.map(
      ({ accuracy }, i) => (accuracy.get("b")!.in! + onC.evaluations[i].accuracy.get("c")!.in!) / 2,
    );
    expect(leaveOneDomainOut.select(runs, "a")!.step / 100).toBe(crossed.indexOf(Math.max(...crossed)));
    expect(oracle.select(runs, "a")!.step / 100).toBe(reported.evaluations.length - 1);
  }
});

/** Returns the run with different accuracies on its test domain. Only the oracle may depend on them. */
function withOtherTest(run: EvaluatedRun, random: Philox): EvaluatedRun {
  const change = (accuracy: EvaluatedRun["evaluations"][number]["accuracy"]): typeof accuracy =>
    new Map([...accuracy, ["a", { in: random.uniform(), out: random.uniform() }]]);
  return { ...run, evaluations: run.evaluations.map(({ step, accuracy }) => ({ step, accuracy: change(accuracy) })) };
}

test("what training-domain and leave-one-domain-out choose does not depend on the test domain", () => {
  const random = keyedRandom(1, "selection");
  for (let trial = 0; trial < 200; trial++) {
    const runs = randomRuns(random);
    const others = runs.map((run) => withOtherTest(run, random));
    for (const method of [trainingDomain, leaveOneDomainOut]) {
      const [before, after] = [method.select(runs, "a")!, method.select(others, "a")!];
      expect([after.step, after.validation]).toEqual([before.step, before.validation]);
    }
  }
});

test.each([
  ["IIDAccuracySelectionMethod", "training-domain"],
  ["LeaveOneOutSelectionMethod", "leave-one-domain-out"],
  ["OracleSelectionMethod", "oracle"],
])("DomainBed's %s is an error that shows our name", (theirs, ours) => {
  expect(() => selectionNamed(theirs)).toThrow(
    new UsageError(`unknown selection method "${theirs}": DomainBed's name; here it is ${ours}`),
  );
});
