import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { loaderText } from "../cli/bench-loader.js";
import { benchLoader } from "./loader.js";

test("bench loader times both ways, and leaves no cache behind", async () => {
  const data = temporaryFolder();
  await makePictureFolder(data, { perCell: 4 });
  const caches = () => readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-bench-"));
  const before = caches();
  const result = await benchLoader({ data, device: "cpu", batch: 2, steps: 2, repeats: 1 });
  expect(result).toMatchObject({
    pictures: 16,
    batch: 4,
    store: "memory",
  });
  expect(result.cold).toBeGreaterThan(0);
  expect(result.cached).toBeGreaterThan(0);
  expect(loaderText(result)).toMatch(/nudge, cached \(in memory\) +\d+ per second/);
  expect(caches()).toEqual(before);
});
