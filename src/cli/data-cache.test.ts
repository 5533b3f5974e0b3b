import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder, writePictures } from "../../tests/support/picture-folder.js";
import { catchPrinted } from "../../tests/support/printed.js";
import { main } from "./main.js";

const printed = catchPrinted();

async function pictures(): Promise<{ root: string; out: string }> {
  const root = temporaryFolder();
  await writePictures(root, { "day/cat": 3, "day/dog": 2, "night/cat": 2, "night/dog": 1 });
  return { root, out: join(temporaryFolder(), "cache") };
}

test("data cache prints the size first, then what it did, and the second time that nothing is left to do", async () => {
  const { root, out } = await pictures();
  writeFileSync(join(root, "day/cat/empty.png"), "");
  expect(await main(["data", "cache", root, "--out", out])).toBe(0);
  expect(printed.stdout).toMatch(
    /^9 pictures; this needs about 1\.2 kB \([\d.]+ [MG]B are free\)\ncache: .*cache\nsize: a short side of at most 256 pixels, scaled down with the bilinear filter\ncached: 8 pictures, 1\.2 kB, 8 pictures decoded in/,
  );
  expect(printed.stdout).toMatch(
    /1 could not be decoded:\n {2}picture .*day\/cat\/empty\.png: could not be decoded: empty: it has no bytes\n$/,
  );
  printed.stdout = "";
  expect(await main(["data", "cache", root, "--out", out])).toBe(0);
  expect(printed.stdout).toMatch(/^9 pictures, all of them already cached\n/);
  expect(printed.stderr).toBe("");
});

test("data cache --json is the report, and nothing else goes to stdout", async () => {
  const { root, out } = await pictures();
  expect(await main(["data", "cache", root, "--out", out, "--full", "--json"])).toBe(0);
  expect(JSON.parse(printed.stdout)).toMatchObject({
    folder: out,
    pictures: 8,
    added: 8,
    bad: [],
    shortSide: null,
    bytes: 8 * 8 * 6 * 3,
  });
});

test("by default the cache is in the user's cache folder, with an index for each size", async () => {
  const { root } = await pictures();
  const home = temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", home);
  expect(await main(["data", "cache", root])).toBe(0);
  expect(await main(["data", "cache", root, "--short-side", "4"])).toBe(0);
  expect(printed.stdout).toContain("size: a short side of at most 4 pixels, scaled down with the bilinear filter\n");
  expect(await main(["data", "cache", root, "--short-side", "256", "--interpolation", "bilinear"])).toBe(0);
  const names = readdirSync(join(home, "nudge", "pictures")).filter((name) => name.startsWith("index-"));
  expect(names).toHaveLength(2);
});

test("a dataset without files, a missing folder and a folder that is not writable are refused with clear errors", async () => {
  const { root, out } = await pictures();
  expect(await main(["data", "cache", "shapes"])).toBe(2);
  expect(printed.stderr).toContain("dataset shapes has no picture files to decode, so there is nothing to cache");
  expect(await main(["data", "cache", join(root, "none")])).toBe(2);
  writeFileSync(out, "a file");
  expect(await main(["data", "cache", root, "--out", out])).toBe(1);
  expect(printed.stderr).toMatch(/picture cache .*could not be /);
  rmSync(out);
});
