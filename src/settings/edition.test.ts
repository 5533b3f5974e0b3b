import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { idOf, withOwnFolder } from "./edition.js";
import { resolve } from "./resolve.js";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const shapes = { data: "shapes", "data.perCell": 4, "data.size": 16, testDomains: ["filled"], steps: 2 };

test("the facts of a run are recorded beside its id and do not change it", async () => {
  const { settings } = await resolve(shapes);
  expect(settings.facts).toMatchObject({ samples: { hash: expect.stringMatching(/^[0-9a-f]{16}$/) }, code: [] });
  expect(settings.facts!.samples.count).toBeGreaterThan(10);
  expect(idOf(settings)).toBe(settings.hash);
});

test("a run with the same settings on another copy of a benchmark takes an id and a folder of its own", async () => {
  const root = mkdtempSync(join(tmpdir(), "nudge-copy-"));
  const classes = ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"];
  for (const domain of ["art_painting", "cartoon", "photo", "sketch"])
    for (const name of classes) {
      mkdirSync(join(root, "PACS", domain, name), { recursive: true });
      for (let i = 0; i < 3; i++) writeFileSync(join(root, "PACS", domain, name, `${i}.png`), png);
    }
  const request = { data: "pacs", root, testDomains: ["sketch"], backbone: "small-cnn", steps: 2 };
  const before = await resolve(request);
  // The split of pictures 0, 1 and 2 is by their number only, so another picture leaves the id as it was.
  writeFileSync(join(root, "PACS", "photo", "dog", "0.png"), Buffer.concat([png, png]));
  const now = await resolve(request);
  expect(now.settings.hash).toBe(before.settings.hash);
  const { plan, note } = withOwnFolder(now, () => before.settings.facts);
  expect(plan.settings.hash).not.toBe(now.settings.hash);
  expect(plan.settings.base).toBe(now.settings.hash);
  expect(idOf(plan.settings)).toBe(plan.settings.hash);
  expect(note).toContain("the samples (84 before, 84 now)");
  expect(withOwnFolder(now, () => now.settings.facts)).toEqual({ plan: now });
  expect(withOwnFolder(now, () => undefined)).toEqual({ plan: now }); // no run, or one of an earlier version
  rmSync(root, { recursive: true });
});

test("options that only some draws of a search use are facts of all of them", async () => {
  const search = { ...shapes, optimizer: "{adam,sgd}", hparamsSeed: 1 };
  const [some, others] = [
    await resolve({ ...search, "sgd.momentum": 0.9 }),
    await resolve({ ...search, "sgd.momentum": 0.1 }),
  ];
  expect(some.settings.facts!.options).toBeUndefined(); // 0.9 is the default
  expect(others.settings.facts!.options).toEqual({ "sgd.momentum": "0.1" });
});
