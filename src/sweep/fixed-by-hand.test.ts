import { expect, test } from "vitest";
import { somePacsSettings } from "../../tests/support/run-folders.js";
import { FixedByHand } from "./fixed-by-hand.js";

const request = {
  ...{ data: "pacs", algorithm: "erm", regularizers: ["nuclear-norm"], averaging: [], trialSeed: 1, hparamsSeed: 3 },
  ...{ batchSize: 32, lr: 0.001, steps: 300, device: "cpu", "nuclear-norm.weight": 0.01 },
};
const search = { data: "pacs", algorithms: "ERM-NU", hparams: 20 };

test("an older run of a search has the settings that the search was asked for, whatever it drew", () => {
  const hand = new FixedByHand([
    { given: { ...search, batchSize: "32", weight: "1e-2", steps: "300", device: "cpu" } },
  ]);
  const settings = { ...somePacsSettings, given: { steps: 300 }, fixed: { steps: 300 }, request };
  expect(hand.settingsOf(settings).fixed).toEqual({ batchSize: 32, "nuclear-norm.weight": 0.01, steps: 300 });
  const { given: _, ...exact } = settings;
  expect(hand.settingsOf(exact).fixed).toEqual({ steps: 300 }); // the run records its explicit settings
});

test("of several requests the one that a run is of counts, and settings of other methods do not", () => {
  const hand = new FixedByHand([
    { given: search },
    { given: { ...search, batchSize: 32, "swad.tolerance": 0.2 } },
    { given: { ...search, batchSize: 64, lr: 0.001 } },
    { given: { ...search, trials: "5-7", lr: 0.001 } },
    { preset: "gone", given: { hparams: "many" } },
    null,
  ]);
  expect(hand.namesIn(request)).toEqual(["batchSize"]);
  expect(hand.namesIn({ ...request, batchSize: 8 })).toEqual([]);
  expect(hand.namesIn({ ...request, data: "vlcs" })).toBeUndefined();
});

test("a value of a grid is set by hand; without a search, older runs stay as they are", () => {
  const hand = new FixedByHand([{ given: { data: "pacs", grid: { "nuclear-norm.weight": "0.001,0.01" } } }]);
  expect(hand.namesIn({ ...request, hparamsSeed: 0 })).toEqual(["nuclear-norm.weight"]);
  const settings = { ...somePacsSettings, given: {}, request: { ...request, hparamsSeed: 0 } };
  expect(hand.settingsOf(settings)).toBe(settings);
});
