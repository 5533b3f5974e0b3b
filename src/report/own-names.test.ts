import { expect, test } from "vitest";
import { makeRun } from "../../tests/support/evaluated-runs.js";
import { algorithms } from "../algorithms/index.js";
import { referenceAlgorithms } from "../records/domainbed-names.js";
import type { EvaluatedRun } from "../records/index.js";
import { trainingDomain } from "../selection/index.js";
import { Outcome } from "./outcome.js";
import { withOwnNames } from "./own-names.js";

const at = { a: [0.5, 0.6], b: [0.4, 0.6], c: [0.3, 0.6] } as const;
const run = (algorithm: string, format: EvaluatedRun["format"], trialSeed = 0): EvaluatedRun =>
  makeRun(["a"], [at], { algorithm, format, trialSeed });
const methodOf = (name: string) => withOwnNames([run(name, "domainbed")]).runs[0].method;

test.each([
  ["GroupDRO", "group-dro", [], "current", {}],
  ["ANDMask", "and-mask", [], "current", {}],
  ["VREx", "vrex", [], "current", {}],
  ["ERM_NU", "erm", ["nuclear-norm"], "current", {}],
  ["Mixup-NU", "mixup", ["nuclear-norm"], "current", {}],
  ["SWAD", "erm", [], "swad", {}],
  ["ERM+nuclear-norm", "erm", ["nuclear-norm"], "current", {}],
  ["swad(coral+nuclear-norm)", "coral", ["nuclear-norm"], "swad", {}],
  ["ERM-NU [weight=2]", "erm", ["nuclear-norm"], "current", { "nuclear-norm.weight": 2 }],
  ["SWAD-CORAL [lr=0.1]", "coral", [], "swad", { lr: 0.1 }],
  ["erm [lr=0.1 nuclear-norm.weight=2]", "erm", [], "current", { lr: 0.1, "nuclear-norm.weight": 2 }],
])("%s has its name here", (name, algorithm, regularizers, model, fixed) => {
  expect(methodOf(name)).toEqual({ algorithm, regularizers, model, fixed });
});

test("names that mean nothing here stay as they are", () => {
  for (const name of ["MyMethod", "erm+mine", "<script>"]) expect(methodOf(name).algorithm).toBe(name);
});

test("every algorithm of DomainBed is found, each under an id of its own", () => {
  const found = referenceAlgorithms.map((name) => methodOf(name).algorithm);
  expect(found.filter((name) => !Object.hasOwn(algorithms, name))).toEqual([]);
  expect(new Set(found).size).toBe(34);
});

test("a method with trials from two testbeds is one row, with a note", () => {
  const runs = [run("group-dro", "nudge", 0), run("GroupDRO", "domainbed", 1), run("CORAL", "domainbed", 1)];
  const { methods, notes, results } = new Outcome({ runs, stored: [], notes: [] }, trainingDomain);
  expect(methods.map(({ title }) => title)).toEqual(["GroupDRO", "CORAL (domainbed)"]);
  expect(results.filter(({ method }) => method.algorithm === "group-dro")).toHaveLength(2);
  expect(notes).toEqual(["GroupDRO: this row combines runs of NUDGE and of another testbed"]);
});

test("runs of the same trial do not compete: each testbed has its row", () => {
  const runs = [run("erm", "nudge"), run("ERM", "domainbed")];
  const { methods, notes } = new Outcome({ runs, stored: [], notes: [] }, trainingDomain);
  expect(methods.map(({ title }) => title)).toEqual(["ERM", "ERM (domainbed)"]);
  expect(notes).toEqual(["ERM: two testbeds have the same trials, so each has its own row"]);
});
