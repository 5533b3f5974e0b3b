import { expect, test } from "vitest";
import type { RunRow } from "./api.js";
import { progressOf } from "./progress.js";

const row: RunRow = {
  ...{ id: "run", state: "running", sweep: null, dataset: "pacs", heldOut: ["sketch"], method: "ERM", fixed: {} },
  ...{ trial: 0, draw: 0, step: 99, steps: 400, validation: null, test: null, secondsPerStep: 1, at: 0, problem: null },
  ...{ own: false, expected: null, assessed: false },
  reported: { step: 200, left: 100, at: 1_000 },
};

test("a running run is at the step that its process reports, and its remaining time counts down", () => {
  expect(progressOf(row, 11_000)).toEqual({ step: 200, share: 0.5, left: 90 });
  expect(progressOf(row, 1e9).left).toBe(0);
});

test("without a report from a process, the last evaluation determines the progress", () => {
  expect(progressOf({ ...row, reported: null }, 0)).toEqual({ step: 100, share: 0.25, left: null });
  expect(progressOf({ ...row, state: "stopped" }, 0)).toEqual({ step: 100, share: 0.25, left: null });
  expect(progressOf({ ...row, step: null, reported: null, steps: null }, 0)).toEqual({
    step: 0,
    share: null,
    left: null,
  });
});

test("a finished run is complete, even if it stopped early", () => {
  expect(progressOf({ ...row, state: "done" }, 0)).toEqual({ step: 100, share: 1, left: 0 });
});
