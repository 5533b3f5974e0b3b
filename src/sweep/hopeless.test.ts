import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { accuraciesAt, somePacsSettings, writeRun } from "../../tests/support/run-folders.js";
import { HopelessCheck, trajectoryOf, whyHopeless } from "./hopeless.js";

/** The best accuracies of three finished draws at steps 0, 50 and 99. */
const finished = [
  [0.2, 0.5, 0.8],
  [0.3, 0.4, 0.7],
  [0.1, 0.6, 0.9],
].map((bests) => bests.map((best, i) => ({ step: [0, 50, 99][i], best })));

test("a draw below all finished ones after half of its updates is given up, and says why", () => {
  const own = [
    { step: 0, best: 0.3 },
    { step: 50, best: 0.39 },
  ];
  expect(whyHopeless(own, finished, 100)).toBe(
    "stopped early after step 50: validation accuracy 39.0 %, while 3 finished draws of its cell had at least 40.0 %",
  );
});

test("nothing is given up early, beside fewer than three, or as good as the worst", () => {
  expect(whyHopeless([{ step: 40, best: 0 }], finished, 100)).toBeUndefined();
  expect(whyHopeless([{ step: 50, best: 0 }], finished.slice(1), 100)).toBeUndefined();
  expect(whyHopeless([{ step: 50, best: 0.4 }], finished, 100)).toBeUndefined();
  expect(whyHopeless([], finished, 100)).toBeUndefined();
  expect(whyHopeless([{ step: 98, best: 0 }], finished, 100)).toBeDefined();
  expect(whyHopeless([{ step: 99, best: 0 }], finished, 100)).toBeUndefined(); // at its last step, nothing can be saved
});

test("a trajectory is the best mean over validation parts of training domains, and knows nothing of held-out ones", () => {
  // The accuracy of domain i on `out` is (value + i/100)/2. The held-out domain is the last of four.
  const records = [...accuraciesAt(0, 0.4), ...accuraciesAt(10, 0.2), ...accuraciesAt(20, 0.6)].map((record) =>
    record.domain === "sketch" ? { ...record, value: 1 } : record,
  );
  const trajectory = trajectoryOf(records, somePacsSettings);
  expect(trajectory.map(({ step }) => step)).toEqual([0, 10, 20]);
  for (const [i, best] of [0.205, 0.205, 0.305].entries()) expect(trajectory[i].best).toBeCloseTo(best, 12);
});

test("a run on disk is compared with finished draws of its own cell only", () => {
  const folder = temporaryFolder();
  const run = (digit: string, trial: number, value: number, done: boolean): string =>
    writeRun(join(folder, "runs", `${digit.repeat(16)}-pacs-sketch-erm-trial${trial}`), {
      settings: { steps: 100, trialSeed: trial, hparamsSeed: Number.parseInt(digit, 16) },
      records: accuraciesAt(60, value),
      done,
    });
  for (const digit of ["1", "2", "3"]) run(digit, 0, 0.5, true);
  const behind = run("4", 0, 0.4, false);
  const elsewhere = run("5", 1, 0.4, false); // another trial, so there is nothing to compare with
  expect(new HopelessCheck(folder, behind).verdict()).toMatch(/^stopped early after step 60/);
  expect(new HopelessCheck(folder, elsewhere).verdict()).toBeUndefined();
  expect(new HopelessCheck(folder, run("6", 0, 0.55, false)).verdict()).toBeUndefined();
});
