import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import type { Request } from "../declared-settings/keys.js";
import { resolve } from "./resolve.js";
import { runName } from "./settings.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-probe-"));
beforeAll(() => makePictureFolder(folder, { perCell: 5, domains: ["shop", "street"] }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const base = { data: folder, testDomains: "shop", backbone: "small-cnn" };
const settingsOf = async (request: Request) => (await resolve({ ...base, ...request })).settings;

test("a probe is another run, says so in its settings, name and table row, and can be made again from them", async () => {
  const probe = await settingsOf({ probe: true, algorithm: "ERM-NU" });
  const plain = await settingsOf({ algorithm: "ERM-NU" });
  expect(probe.hash).not.toBe(plain.hash);
  expect(probe.fixed.probe).toBe(true);
  expect(runName(probe)).toBe(`${probe.hash}-image-folder-shop-probe+erm+nuclear-norm-trial0`);
  const { settings: again } = await resolve(JSON.parse(JSON.stringify(probe.request)));
  expect(again).toEqual(probe);
  expect(plain).not.toHaveProperty("probe");
  expect(await settingsOf({ probe: false, algorithm: "ERM-NU" })).toEqual(plain);
});

test("by default, a probe has the learning rate of small networks, no augmentation, few steps and no warm-up", async () => {
  const probe = await settingsOf({ probe: "true", algorithm: "ERM-NU" });
  expect(probe).toMatchObject({ steps: 201, evaluateEvery: 25, augmentValidation: false });
  expect(probe.hparams).toMatchObject({ lr: 1e-3, batchSize: 32, dataAugmentation: false });
  expect(probe.regularizers[0].settings).toMatchObject({ weight: 0.01, warmup: 0 });
  const told = await settingsOf({ probe: true, algorithm: "ERM-NU", steps: 7, lr: 0.1, warmup: 3 });
  expect([told.steps, told.hparams.lr, told.regularizers[0].settings.warmup]).toEqual([7, 0.1, 3]);
  expect((await settingsOf({ probe: true, hparamsSeed: 1 })).hparams.batchSize).toBe(372); // DomainBed's draw
});

test("no domain is held out where an empty list says so, and not where a text is empty", async () => {
  const all = await settingsOf({ testDomains: [] });
  expect(all.testDomains).toEqual([]);
  expect(runName(all)).toBe(`${all.hash}-image-folder-none-erm-trial0`);
  const { settings: again } = await resolve(JSON.parse(JSON.stringify(all.request)));
  expect(again.hash).toBe(all.hash);
  await expect(settingsOf({ testDomains: "" })).rejects.toThrow("no test domain");
});

test("the names of runs from before there were probes are what they were", async () => {
  const { settings } = await resolve({ data: "shapes", testDomains: "filled" });
  expect(settings.hash).toBe("86ab4d2857db6831");
});
