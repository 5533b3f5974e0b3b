/** Files of a run that are damaged or deleted, while it rests and while it runs: what happened is named, and no other model comes out. */

import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadModel } from "../../src/model/index.js";
import { resolve } from "../../src/settings/resolve.js";
import { RunFolder } from "../../src/training/run-folder.js";
import { train } from "../../src/training/train.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-damage-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TINY = { data: "shapes", "data.perCell": 5, "data.size": 16, testDomains: "inverted", batchSize: 4, threads: 1 };

/** Trains to the end, or stops after so many updates; `during` is called after every one with their number. */
async function trainIn(
  name: string,
  { stopAfter, during }: { stopAfter?: number; during?: (updates: number, path: string) => void } = {},
): Promise<{ path: string; log: string[] }> {
  const plan = await resolve({ ...TINY, steps: 16, evaluateEvery: 5 });
  const path = join(folder, name);
  using run = await RunFolder.own(path);
  if (!run.isBegun) run.writeJson("settings.json", plan.settings);
  let updates = 0;
  const log: string[] = [];
  await train({
    plan,
    folder: run,
    reporter: { line: (text) => void log.push(text), status: () => {} },
    shouldStop: () => {
      updates++;
      during?.(updates, path);
      return stopAfter !== undefined && updates >= stopAfter;
    },
  });
  return { path, log };
}

const bytes = (run: string, file: string): string => readFileSync(join(run, file)).toString("latin1");

/** Flips one bit, as far from the end as said. */
function flip(path: string, fromEnd: number): void {
  const data = readFileSync(path);
  data[data.length - fromEnd] ^= 1;
  writeFileSync(path, data);
}

const whole = await trainIn("whole");

test("a flipped bit in a checkpoint is reported, and the run resumes from the checkpoint before to the same bytes", async () => {
  const { path } = await trainIn("flipped", { stopAfter: 30 });
  flip(join(path, "checkpoint/last.safetensors"), 100);
  const { log } = await trainIn("flipped");
  expect(log.join("\n")).toMatch(/last\.safetensors: the file is damaged: tensor .* has the checksum/);
  expect(log.join("\n")).toContain("Resuming from the checkpoint before it");
  for (const file of ["records.jsonl", "model.safetensors"]) expect(bytes(path, file)).toBe(bytes(whole.path, file));
  expect(existsSync(join(path, "checkpoint/previous.safetensors"))).toBe(false);
});

test("a checkpoint whose step was changed does not end the run early", async () => {
  const { path } = await trainIn("step", { stopAfter: 30 });
  const file = join(path, "checkpoint/last.safetensors");
  const data = readFileSync(file).toString("latin1");
  const [found] = /\\"next\\":\d+/.exec(data) ?? [];
  expect(found).toBeDefined();
  writeFileSync(file, data.replace(found!, `\\"next\\":${"9".repeat(found!.length - 9)}`), "latin1");
  rmSync(join(path, "checkpoint/previous.safetensors"), { force: true });
  await expect(trainIn("step")).rejects.toThrow(/the file is damaged: metadata "nudge" has the checksum/);
});

test("a flipped bit in a model is reported when it is loaded", async () => {
  const model = join(folder, "model.safetensors");
  copyFileSync(join(whole.path, "model.safetensors"), model);
  flip(model, 10);
  await expect((async () => loadModel(model))()).rejects.toThrow(/the file is damaged: tensor/);
});

test("deleting records during a run stops it, and it does not resume without them", async () => {
  const remove = (updates: number, path: string): void => {
    if (updates === 30) rmSync(join(path, "records.jsonl"), { force: true });
  };
  await expect(trainIn("records", { during: remove })).rejects.toThrow(
    /records\.jsonl: the file was deleted or emptied/,
  );
  await expect(trainIn("records")).rejects.toThrow(/records are missing: the run had written \d+ up to step/);
});

test("deleting the settings or the folder during a run stops it with an error that names them", async () => {
  const remove = (what: string) => (updates: number, path: string) => {
    if (updates === 30) rmSync(join(path, what), { recursive: true, force: true });
  };
  await expect(trainIn("settings", { during: remove("settings.json") })).rejects.toThrow(
    /settings\.json: the file was deleted while the run was running/,
  );
  await expect(trainIn("folder", { during: remove(".") })).rejects.toThrow(/deleted/);
  // What rm has left of a folder half-way.
  await expect(trainIn("lock", { during: remove("lock") })).rejects.toThrow(/lock: it was deleted while the run was/);
});
