import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { buildFolder, folderToBuildIn, packageRoot } from "./build-folder.js";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "nudge-build-folder-"));
  mkdirSync(join(root, "native/src"), { recursive: true });
  writeFileSync(join(root, "native/src/addon.cc"), "one");
  vi.stubEnv("XDG_CACHE_HOME", join(root, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

/** Root can write to any folder, so the test uses a file instead of a folder that is not writable. */
const forbid = (): void => writeFileSync(join(root, "build"), "");

test("the addon is built in the package's own build/ where that can be written to", () => {
  expect(folderToBuildIn(root)).toBe(join(root, "build"));
  expect(buildFolder(root)).toBe(join(root, "build"));
  expect(buildFolder()).toBe(join(packageRoot, "build"));
});

test("otherwise it is built in the user's cache, and found there afterwards", () => {
  forbid();
  const cached = folderToBuildIn(root);
  expect(cached).toMatch(new RegExp(`^${root}/cache/nudge/addon/[0-9a-f]{12}$`));
  expect(buildFolder(root)).toBe(join(root, "build")); // the path for an error message
  mkdirSync(cached, { recursive: true });
  writeFileSync(join(cached, "nudge.node"), "");
  expect(buildFolder(root)).toBe(cached);
});

test("other sources, another folder in the cache: an addon of another version is never loaded", () => {
  forbid();
  const first = folderToBuildIn(root);
  writeFileSync(join(root, "native/src/addon.cc"), "two");
  expect(folderToBuildIn(root)).not.toBe(first);
});
