import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { loadModel } from "../model/index.js";
import { resolve } from "../settings/resolve.js";
import { combineRuns } from "./combine-runs.js";
import { RunFolder, readTrainSettings } from "./run-folder.js";
import { makeSoup } from "./soup.js";
import { train } from "./train.js";

const home = mkdtempSync(join(tmpdir(), "nudge-soup-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function trained(name: string, more: object): Promise<string> {
  const path = join(home, name);
  const plan = await resolve({
    ...{ data: "shapes", "data.perCell": 4, "data.size": 16, testDomains: "textured", batchSize: 4, threads: 1 },
    ...{ steps: 5, evaluateEvery: 4, evaluateFirst: false, device: "cpu", ...more },
  });
  using folder = await RunFolder.own(path);
  folder.writeJson("settings.json", plan.settings);
  await train({ plan, folder });
  return path;
}

let runs: string[];
beforeAll(async () => {
  runs = [];
  for (const lr of [1e-3, 2e-3, 4e-3]) runs.push(await trained(`lr ${lr}`, { lr }));
}, 60_000);

test("a uniform soup has the mean of the runs' weights, and is a model like any other", async () => {
  const out = join(home, "uniform.safetensors");
  const { runs: rows, soup } = await makeSoup(runs, { kind: "uniform", out });
  expect(rows.map(({ taken }) => taken)).toEqual([true, true, true]);
  expect(soup.validation).toBeGreaterThanOrEqual(0);
  expect(soup.heldOut).not.toBeNull();
  scope(() => {
    const [mixed, ...own] = [out, ...runs.map((run) => join(run, "model.safetensors"))].map((path) =>
      readWeights(path),
    );
    const names = [...mixed.keys()].filter((name) => !name.startsWith("distance/"));
    expect(names.length).toBeGreaterThan(4);
    for (const name of names) {
      const mean = own
        .map((each) => each.get(name)!.toDType("float64"))
        .reduce((sum, each) => sum.add(each))
        .div(3);
      expect(mixed.get(name)!.toDType("float64").sub(mean).abs().max().item(), name).toBeLessThan(1e-6);
    }
  });
  using model = await loadModel(out);
  expect(model.about.model).toBe("soup");
  expect(model.classes).toHaveLength(7);
});

test("a sweep takes the same runs for its soup, also where a run's validation pictures are augmented", async () => {
  const data = join(home, "pictures");
  await makePictureFolder(data, { perCell: 16 });
  const pictured = { data, testDomains: "b", backbone: "small-cnn", size: 32, cache: "false", holdout: 0.5 };
  const own = { "data.perCell": undefined, "data.size": undefined, augmentValidation: true };
  const paths: string[] = [];
  for (const lr of [1e-3, 3e-3, 1e-2]) paths.push(await trained(`pictures ${lr}`, { ...pictured, ...own, lr }));
  const { runs: judged } = await makeSoup(paths, { kind: "greedy", out: join(home, "alone.safetensors") });
  const out = join(home, "in a sweep.safetensors");
  const { taken } = await combineRuns(paths, { kind: "soup", out, device: "cpu", threads: 1 });
  expect(taken.soup).toEqual(judged.filter((run) => run.taken).map(({ name }) => readTrainSettings(name).hash));
});

test("a greedy soup is no worse on validation pictures than its best run, and says which it took", async () => {
  const { runs: rows, soup } = await makeSoup(runs, { kind: "greedy", out: join(home, "greedy.safetensors") });
  const best = Math.max(...rows.map(({ validation }) => validation));
  expect(soup.validation).toBeGreaterThanOrEqual(best);
  expect(rows.find(({ taken }) => taken)).toBeDefined();
});

test("a run with two names is averaged once", async () => {
  const link = join(home, "latest");
  symlinkSync(runs[1], link);
  const { runs: rows } = await makeSoup([link, ...runs, runs[0]], {
    kind: "uniform",
    out: join(home, "once.safetensors"),
  });
  expect(rows).toHaveLength(3);
  await expect(makeSoup([link, runs[1]], { kind: "uniform", out: join(home, "one.safetensors") })).rejects.toThrow(
    "a soup needs at least two runs, got 1",
  );
});

test("runs that cannot be averaged are refused, by name", async () => {
  const out = join(home, "none", "model.safetensors");
  const soupWith = async (name: string, more: object) =>
    makeSoup([runs[0], await trained(name, more)], { kind: "uniform", out });
  await expect(makeSoup(runs.slice(0, 1), { kind: "uniform", out })).rejects.toThrow(UsageError);
  await expect(soupWith("trial", { trialSeed: 1 })).rejects.toThrow(
    /they differ in the split .* Use runs of the same trial/,
  );
  await expect(soupWith("domain", { testDomains: "filled" })).rejects.toThrow("they differ in the domain held out");
  await expect(soupWith("seed", { seed: 1 })).rejects.toThrow("different random weights");
  await expect(soupWith("all", { trainOnAll: true })).rejects.toThrow("their validation accuracies cannot be compared");
  await expect(soupWith("backbone", { backbone: "toy-cnn" })).rejects.toThrow("they differ in the backbone");
  expect(existsSync(join(home, "none"))).toBe(false);
});
