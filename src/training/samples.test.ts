import { expect, test } from "vitest";
import type { Plan } from "../settings/resolve.js";
import { evaluationBatchOf } from "./samples.js";

const rowsOf = (given: Record<string, unknown>, batchSize = 32): number | undefined =>
  evaluationBatchOf({
    ...{ device: "cuda:0", algorithm: "erm", domains: ["a", "b", "c", "d"], testDomains: ["a"] },
    ...{ hparams: { batchSize }, ...given },
  } as unknown as Plan["settings"]);

test("on a GPU, evaluations take batches of as many rows as training does, for which cuDNN has plans", () => {
  expect(rowsOf({})).toBe(96);
  expect(rowsOf({ device: "cpu" })).toBeUndefined();
  expect(rowsOf({}, 8)).toBeUndefined(); // too few to keep a GPU busy
  expect(rowsOf({}, 1000)).toBeUndefined();
  expect(rowsOf({ algorithm: "arm" })).toBeUndefined(); // its predictions depend on the batch
  expect(rowsOf({ evaluationSize: 256 })).toBeUndefined(); // its plans are others anyway
});
