import { readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { dataText } from "../cli/bench-data.js";
import { benchData } from "./data.js";

const small = { width: 48, backbone: "toy-cnn", device: "cpu", precision: "float32", batch: 2, steps: 2 };

test("bench data times steps on pictures in memory and on decoded ones, and takes generated pictures again", async () => {
  const folder = temporaryFolder();
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-data-bench-"));
  const result = await benchData({ ...small, pictures: 240, folder });
  expect(result).toMatchObject({
    pictures: 240,
    batch: 6,
    inMemory: { store: "memory" },
    decoded: { store: "decode" },
    pixelBytes: 240 * 48 * 36 * 3,
  });
  expect(result.ratio).toBeCloseTo(result.decoded.stepMs / result.inMemory.stepMs);
  expect(dataText(result)).toMatch(/decoded from files each time +\d+\.\d ms +\d+\.\d\d×/);

  const picture = join(folder, "pictures/clipart/class-0/0.jpg");
  const written = statSync(picture).mtimeMs;
  await benchData({ ...small, pictures: 240, folder });
  expect(statSync(picture).mtimeMs).toBe(written);
  await expect(benchData({ ...small, pictures: 300, folder })).rejects.toThrow("has other pictures");
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-data-bench-"))).toEqual(before);
});

test("too few pictures for the classes of every domain are refused", async () => {
  await expect(benchData({ ...small, pictures: 10 })).rejects.toThrow("at least 200 pictures");
});

test("links stand for pictures that are not generated", async () => {
  const folder = temporaryFolder();
  const result = await benchData({ ...small, pictures: 400, distinct: 210, folder });
  expect(result).toMatchObject({ pictures: 400, distinct: 210 });
  const files = readdirSync(join(folder, "pictures"), { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  const all = files.map(({ parentPath, name }) => statSync(join(parentPath, name)));
  expect(all).toHaveLength(400);
  expect(new Set(all.map(({ ino }) => ino)).size).toBe(210);
  expect(result.fileBytes).toBe(all.reduce((sum, { size }) => sum + size, 0));
  const text = dataText(result);
  expect(text).toContain("210 of the files are different; the others are links to them, so the disk is not measured");
  expect(text).toMatch(/Writing the files took \d+ s, listing and splitting them \d+ s/);
});
