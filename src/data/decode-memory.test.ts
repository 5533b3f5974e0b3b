import { setTimeout as sleep } from "node:timers/promises";
import sharp from "sharp";
import { expect, test } from "vitest";
import { decodeBytes } from "./decode.js";
import { MemoryBudget, mostPixelsOf } from "./decode-memory.js";

test("tasks share a budget in order, and one that needs more than all of it runs alone", async () => {
  const budget = new MemoryBudget(100);
  const seen: number[] = [];
  const sizes = [60, 30, 50, 300, 10, 90];
  await Promise.all(
    sizes.map((bytes) =>
      budget.use(bytes, async () => {
        seen.push(budget.inUse);
        await sleep(5);
      }),
    ),
  );
  expect(seen).toHaveLength(sizes.length);
  expect(seen.filter((bytes) => bytes > 100)).toEqual([300]);
  expect(budget.inUse).toBe(0);
});

test("a task that fails gives its bytes back", async () => {
  const budget = new MemoryBudget(100);
  await expect(budget.use(80, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await budget.use(80, async () => budget.inUse)).toBe(80);
});

/** The file with another size in its header: an AVIF says it in its "ispe" box. */
function claiming(avif: Buffer, width: number, height: number): Buffer {
  const at = avif.indexOf("ispe") + 8;
  const bytes = Buffer.from(avif);
  bytes.writeUInt32BE(width, at);
  bytes.writeUInt32BE(height, at + 4);
  return bytes;
}

test("a picture with too many pixels for its format is refused by its header, with both numbers", async () => {
  const small = await sharp({ create: { width: 16, height: 16, channels: 3, background: "red" } })
    .avif()
    .toBuffer();
  expect((await decodeBytes(small, "a.avif")).width).toBe(16);
  expect(mostPixelsOf("AVIF")).toBeLessThan(13_000 ** 2);
  const before = process.memoryUsage.rss();
  await expect(decodeBytes(claiming(small, 13_000, 13_000), "a.avif")).rejects.toThrow(
    "picture a.avif: could not be decoded: it has 13000 × 13000 pixels, and of an AVIF at most 50,331,648 are decoded",
  );
  expect(process.memoryUsage.rss() - before).toBeLessThan(50e6);
});
