import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { rememberDataRoot, rememberedDataRoots } from "./named-folders.js";

afterEach(() => vi.unstubAllEnvs());

test("folders are remembered once by their real paths, and forgotten when they are gone", () => {
  const home = temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", join(home, "cache"));
  expect(rememberedDataRoots()).toEqual([]);
  const [one, two, three] = ["one", "two", "three"].map((name) => join(home, name));
  for (const root of [one, two, three]) mkdirSync(root);
  rememberDataRoot(one);
  rememberDataRoot(join(one, "..", "one"));
  rememberDataRoot(two);
  expect(rememberedDataRoots()).toEqual([realpathSync(one), realpathSync(two)]);
  rmSync(one, { recursive: true });
  rememberDataRoot(three);
  expect(rememberedDataRoots()).toEqual([realpathSync(two), realpathSync(three)]);
});

test("a list that is damaged, or cannot be written, is as good as none", () => {
  const home = temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", home);
  mkdirSync(join(home, "nudge"));
  writeFileSync(join(home, "nudge/data-roots.json"), '["relative", 3, null');
  expect(rememberedDataRoots()).toEqual([]);
  writeFileSync(join(home, "nudge/data-roots.json"), '["relative", 3, "/data"]');
  expect(rememberedDataRoots()).toEqual(["/data"]);
  vi.stubEnv("XDG_CACHE_HOME", join(home, "nudge/data-roots.json"));
  rememberDataRoot(home);
  expect(rememberedDataRoots()).toEqual([]);
});
