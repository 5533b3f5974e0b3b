import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { makePlan } from "./make-plan.js";

test("a plan says whose protocol its runs are in; a probe's is its own", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-make-plan-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await makePictureFolder(folder, { perCell: 5, domains: ["shop", "street"] });
  const wordsOf = async (given: object): Promise<readonly string[]> =>
    (await makePlan({ given: { data: folder, backbone: "small-cnn", trials: 1, algorithms: "ERM", ...given } })).words
      .protocol;
  expect(await wordsOf({})).toEqual([expect.stringMatching(/^DomainBed protocol: 5001 steps, .*\.$/)]);
  expect(await wordsOf({ protocol: "swad" })).toEqual([expect.stringMatching(/^SWAD protocol: 5001 steps /)]);
  for (const probe of [true, "true"])
    expect(await wordsOf({ probe })).toEqual([expect.stringMatching(/^Probe protocol: 201 steps on features/)]);
  await expect(wordsOf({ probe: true, algorithms: "MIRO" })).rejects.toThrow(
    "any algorithm except MixStyle, ARM, MIRO",
  );
});

test("with a probe, all algorithms are those that a probe can train, and the plan says which are not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-make-plan-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await makePictureFolder(folder, { perCell: 5, domains: ["shop", "street", "home"] });
  const given = { data: folder, backbone: "small-cnn", trials: 1, algorithms: "all", testDomains: "shop" };
  const [probes, whole] = [await makePlan({ given: { ...given, probe: true } }), await makePlan({ given })];
  expect(probes.notes[0]).toBe("all: without MixStyle, ARM, MIRO, which a probe cannot train");
  expect(whole.runs.length - probes.runs.length).toBe(3);
  expect(whole.notes).toEqual([]);
});

test("a plan says which penalties set in after its runs have ended", async () => {
  const notesOf = async (given: object): Promise<readonly string[]> =>
    (await makePlan({ given: { data: "shapes", trials: 1, algorithms: "ERM-NU,IRM", ...given } })).notes;
  expect(await notesOf({ steps: 101 })).toEqual([
    "nuclear-norm has no effect in runs of 101 steps, because it becomes active at step 101; use nuclear-norm.warmup=0 to apply it from the start",
    "IRM: its own penalty reaches its full weight at step 500 (annealSteps), but runs end after 101 steps",
  ]);
  expect(await notesOf({ steps: 102, "nuclear-norm.warmup": 0, "irm.annealSteps": 10 })).toEqual([]);
  const [shortest] = await notesOf({ algorithms: "ERM-NU", grid: { steps: "31,21,61" } });
  expect(shortest).toContain("in runs of 21 steps");
  expect(await notesOf({ hparams: 8 })).toEqual([]); // some drawn values of IRM exceed 5001 steps
});

test("a shared setting that some methods do not use is noted, and one that none uses is refused", async () => {
  const plan = (given: object) => makePlan({ given: { data: "shapes", trials: 1, testDomains: "filled", ...given } });
  const { runs, notes } = await plan({ algorithms: "ERM,DANN", lr: 0.01, hparams: 2 });
  expect(notes).toEqual(["lr: DANN does not use lr; it has lrG and lrD instead"]);
  expect(runs.map(({ request }) => [request.algorithm, request.lr === 0.01, request.fixed])).toEqual([
    ["erm", true, ["lr"]],
    ["erm", true, ["lr"]],
    ["dann", false, []],
    ["dann", false, []],
  ]);
  await expect(plan({ algorithms: "DANN,CDANN", lr: 0.01 })).rejects.toThrow("DANN does not use lr");
  await expect(plan({ algorithms: "DANN", grid: { lr: "0.01,0.1" } })).rejects.toThrow("DANN does not use lr");
});

test.each([
  [
    { "nuclear-norm.weight": 3 },
    /^nuclear-norm.weight applies to none of the planned runs, because none of them has NU/,
  ],
  [{ "irm.penaltyWieght": 1 }, 'unknown setting of IRM "penaltyWieght": did you mean "penaltyWeight"?'],
  [{ "nuclear-norm.wieght": 1 }, 'unknown setting of NU "wieght": did you mean "weight"?'],
  [{ grid: { "swad.tolerance": "0.1,0.2" } }, "plan SWAD too (--algorithms SWAD)"],
  [{ "erm.lr": 0.1, "irm.lr": 0.2 }, "irm.lr applies to none"],
  [{ "sgd.momentum": 0.5 }, "this run uses the optimizer adam"],
])("a plan refuses %j, which would apply to no run", async (settings, message) => {
  const given = { data: "shapes", trials: 1, algorithms: "ERM", ...settings };
  await expect(makePlan({ given })).rejects.toThrow(message);
});

test("a setting with a prefix applies to the runs that have the part", async () => {
  const given = {
    data: "shapes",
    trials: 1,
    testDomains: "filled",
    algorithms: "ERM,ERM-NU",
    "nuclear-norm.weight": 3,
  };
  const { runs } = await makePlan({ given: { ...given, optimizer: "{adam, sgd}", "sgd.momentum": 0.5, hparams: 2 } });
  expect(runs.map(({ request }) => request["nuclear-norm.weight"])).toEqual([undefined, undefined, 3, 3]);
});
