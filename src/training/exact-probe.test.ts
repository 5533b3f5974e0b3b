import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import type { Request } from "../declared-settings/keys.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { loadModel } from "../model/index.js";
import { ACCURACY } from "../records/record.js";
import { readRecords } from "../records/store.js";
import { resolve } from "../settings/resolve.js";
import { RunFolder } from "./run-folder.js";
import { train } from "./train.js";

const root = mkdtempSync(join(tmpdir(), "nudge-exact-"));
const pictures = join(root, "pictures");
beforeAll(() => makePictureFolder(pictures, { perCell: 8, domains: ["shop", "street", "studio"] }));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const base: Request = {
  ...{
    data: pictures,
    testDomains: "shop",
    backbone: "small-cnn",
    pretrained: false,
    cache: join(root, "cache"),
    threads: 1,
  },
};

async function made(name: string, request: Request) {
  const plan = await resolve({ ...base, ...request });
  using folder = await RunFolder.own(join(root, name));
  const { done } = await train({ plan, folder });
  expect(done).toBe(true);
  return { path: folder.path, records: readRecords(folder.records).records };
}

const numberOf = (records: Awaited<ReturnType<typeof made>>["records"], metric: string, domain: string | null = null) =>
  records.find((row) => row.metric === metric && row.domain === domain)?.value;

test("an exact probe is one step, the same at every seed, and its model takes pictures", async () => {
  const first = await made("first", { probe: "exact", seed: 0 });
  const other = await made("other", { probe: "exact", seed: 0, probeC: numberOf(first.records, "probeC") });
  expect(new Set(first.records.map(({ step }) => step))).toEqual(new Set([0]));
  expect(numberOf(first.records, "probeGradient")).toBeLessThan(1e-7);
  expect(numberOf(other.records, ACCURACY, "shop")).toBe(numberOf(first.records, ACCURACY, "shop"));
  using model = await loadModel(first.path);
  expect(model.about.modules).toEqual(["backbone", "classifier"]);
  const file = join(pictures, (await resolve(base)).dataset.domains[0].files![0]);
  expect(model.about.classes).toContain((await model.predict(file)).label);
});

test("refit fits the validation pictures too, and leaves what was measured as it was", async () => {
  const without = await made("without", { probe: "exact", probeC: 0.01 });
  const refit = await made("refit", { probe: "exact", probeC: 0.01, refit: true });
  expect(numberOf(refit.records, ACCURACY, "street")).toBe(numberOf(without.records, ACCURACY, "street"));
  const head = (path: string) =>
    scope(() => readWeights(join(path, "model.safetensors")).get("classifier.weight")!.toNumbers());
  expect(head(refit.path)).not.toEqual(head(without.path));
});

test("a run that starts from the exact probe has its classifier before the first update", async () => {
  const probe = await made("probe", { probe: "exact", probeC: 0.01 });
  // With a learning rate close to zero, the evaluation is that of the initial weights.
  const tuned = await made("tuned", {
    headFirst: true,
    probeC: 0.01,
    steps: 1,
    lr: 1e-12,
    algorithm: "CORAL",
    batchSize: 2,
  });
  expect(numberOf(tuned.records, ACCURACY, "shop")).toBeCloseTo(numberOf(probe.records, ACCURACY, "shop")!, 1);
  expect(existsSync(join(tuned.path, "model.safetensors"))).toBe(true);
});

test("an exact probe takes no other loss, and headFirst no other classifier", async () => {
  await expect(resolve({ ...base, probe: "exact", algorithm: "ERM-NU" })).rejects.toThrow("--probe sgd");
  await expect(resolve({ ...base, headFirst: true, nonlinearClassifier: true })).rejects.toThrow(UsageError);
  await expect(made("mtl", { headFirst: true, algorithm: "MTL", steps: 1, batchSize: 2 })).rejects.toThrow(
    "is not a single linear layer on the features",
  );
});

test("the kinds of probe: true is what earlier runs have, and keeps their names", async () => {
  const { settings: old } = await resolve({ ...base, probe: true });
  const { settings: sgd } = await resolve({ ...base, probe: "sgd" });
  expect(sgd.hash).toBe(old.hash);
  expect(sgd.probe).toBe(true);
  const { settings: exact } = await resolve({ ...base, probe: "exact" });
  expect(exact).toMatchObject({ probe: "exact", probeC: "auto", steps: 1 });
  expect((await resolve(JSON.parse(JSON.stringify(exact.request)))).settings).toEqual(exact);
});
