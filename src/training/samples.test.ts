import { expect, test } from "vitest";
import { algorithmNamed } from "../algorithms/index.js";
import type { Plan } from "../settings/resolve.js";
import { loaderOptions, type Samples } from "./samples.js";

test("predictions that depend on the batch have DomainBed's batches, on every device", () => {
  const rowsOf = (id: string, more: object = {}): number | undefined => {
    const settings = { device: "cuda:0", backbone: "mlp", inputShape: [2], domains: ["a", "b"], testDomains: ["a"] };
    const plan = { algorithm: algorithmNamed(id), settings: { ...settings, hparams: { batchSize: 8, ...more } } };
    return loaderOptions(plan as unknown as Plan, {} as Samples).evaluationBatch;
  };
  expect(rowsOf("arm")).toBe(64);
  expect(rowsOf("mtl", { noise: false })).toBe(64);
  expect(rowsOf("mtl", { noise: true })).toBeUndefined();
  expect(rowsOf("erm")).toBeUndefined();
});
