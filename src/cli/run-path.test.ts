import { existsSync, mkdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { runName, type TrainSettings } from "../settings/settings.js";
import { checkName, linkRun, readableName, runPath, shortPath } from "./run-path.js";

const settings = (parts: object = {}): TrainSettings =>
  ({
    ...{ data: "photos/My shop/", dataset: "image-folder", hash: "0123456789abcdef", testDomains: [], trialSeed: 0 },
    ...{ algorithm: "erm", regularizers: [{ id: "nuclear-norm", settings: {} }], averaging: [] },
    ...parts,
  }) as unknown as TrainSettings;

test("a run of own pictures is named by folder, method, held-out domain and the start of its hash", () => {
  expect(readableName(settings())).toBe("My_shop-erm+nuclear-norm-01234567");
  expect(readableName(settings({ probe: "exact" }))).toBe("My_shop-exact-probe-01234567");
  expect(readableName(settings({ testDomains: ["dusk"], trialSeed: 2 }))).toBe(
    "My_shop-erm+nuclear-norm-without-dusk-trial2-01234567",
  );
  expect(readableName(settings({ data: "lists/../train.csv" }))).toBe("train-erm+nuclear-norm-01234567");
  expect(readableName(settings({ data: ".." }))).not.toContain("..");
});

test("benchmarks, and runs that an earlier version began, keep the long name", () => {
  const out = temporaryFolder();
  expect(runPath(out, settings({ dataset: "pacs" }))).toBe(join(out, runName(settings({ dataset: "pacs" }))));
  expect(runPath(out, settings())).toBe(join(out, readableName(settings())));
  mkdirSync(join(out, runName(settings())));
  expect(runPath(out, settings())).toBe(join(out, runName(settings())));
});

test("a link points to the newest run, and a file of that name that is not a link does not change", () => {
  const out = temporaryFolder();
  for (const name of ["one", "two", "mine"]) mkdirSync(join(out, name));
  expect(linkRun(join(out, "one"), "latest")).toBe(undefined);
  expect(linkRun(join(out, "two"), "latest")).toBe("one");
  expect(readlinkSync(join(out, "latest"))).toBe("two");
  expect(shortPath(join(out, "two"))).toBe(join(out, "latest"));
  expect(shortPath(join(out, "one"))).toBe(join(out, "one"));
  linkRun(join(out, "latest"), "latest"); // a run that is resumed by its link keeps the link
  expect(readlinkSync(join(out, "latest"))).toBe("two");
  linkRun(join(out, "one"), "mine");
  expect(existsSync(join(out, "mine", "one"))).toBe(false);
  expect(() => checkName(out, "mine")).toThrow("already exists");
  expect(() => checkName(out, "../evil")).toThrow("without slashes");
  checkName(out, "new");
  checkName(temporaryFolder(), "new");
});
