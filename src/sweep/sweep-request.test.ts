import { expect, test } from "vitest";
import { partsOf, readPart, seeds } from "./sweep-request.js";

test.each<[unknown, number[]]>([
  ["3", [0, 1, 2]],
  [2, [0, 1]],
  ["3-5", [3, 4, 5]],
  ["1,4", [1, 4]],
  [
    [2, "7", 2],
    [2, 7],
  ],
])("%j stands for the seeds %j", (value, expected) => {
  expect(seeds("trials", value)).toEqual(expected);
});

test.each([["0"], ["5-3"], ["x"], [-1], [[1.5]]])("%j are not valid seeds", (value) => {
  expect(() => seeds("trials", value)).toThrow("trials: expected");
});

test.each([["1000000000"], [2 ** 31], ["0-4294967295"]])(
  "%j are too many seeds, which is detected before they are created",
  (value) => {
    expect(() => seeds("trials", value)).toThrow(/trials: expected at most 1,000,000 of them, got \d/);
  },
);

test("a file's lists are the sweep's, and its other keys are settings of the runs", () => {
  const part = readPart({
    data: ["pacs", "vlcs"],
    algorithms: "ERM, ERM-NU",
    trials: 2,
    pairs: true,
    "grid.nuclear-norm.weight": [0.001, 0.01],
    "grid.lr": "1e-4,1e-5",
    steps: 300,
    "settings.batchSize": 8,
    "data.size": 16,
  });
  expect(part).toEqual({
    data: ["pacs", "vlcs"],
    algorithms: ["ERM", "ERM-NU"],
    trials: [0, 1],
    pairs: true,
    grid: { "nuclear-norm.weight": [0.001, 0.01], lr: ["1e-4", "1e-5"] },
    settings: { steps: 300, batchSize: 8, "data.size": 16 },
  });
});

test.each([
  [{ trails: 3 }, 'unknown key "trails" of a sweep: did you mean "trials"?'],
  [{ trialSeed: 1 }, "setting trialSeed: in a sweep, use the list trials instead"],
  [{ algorithm: "erm" }, "use the list algorithms instead"],
  [{ grid: "lr" }, "grid: expected values by setting"],
  [{ "grid.lr": [] }, "grid lr: expected one or more comma-separated values"],
  [{ pairs: "yes" }, "pairs: expected true or false"],
])("%j is refused with a clear error", (given, words) => {
  expect(() => readPart(given)).toThrow(words);
});

test("given lists replace those of a preset, and given settings are added to its settings", () => {
  const preset = [{ data: ["pacs"], algorithms: ["ERM"], hparams: [0, 1], settings: { protocol: "swad", lr: 1 } }];
  const [part] = partsOf(preset, { data: ["shapes"], hparams: [0], settings: { lr: 2, steps: 5 } });
  expect(part).toMatchObject({ data: ["shapes"], algorithms: ["ERM"], hparams: [0], trials: [0, 1, 2] });
  expect(part.settings).toEqual({ protocol: "swad", lr: 2, steps: 5 });
});

test("a sweep without a dataset, and a grid over what the sweep sets itself, are refused", () => {
  expect(() => partsOf(undefined, {})).toThrow("no dataset: choose one or more with --data");
  expect(() => partsOf(undefined, { data: ["shapes"], grid: { trialSeed: [1] } })).toThrow(
    "use the list trials instead",
  );
});
