import { writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { loadNative } from "../engine/load.js";
import { Tensor } from "../engine/tensor.js";
import { decodeBatch, decodeFile, scaledSize } from "./decode.js";

const { decodePicture } = loadNative();

let state = 1;
function random(): number {
  state = (state * 1103515245 + 12345) % 2 ** 31;
  return state / 2 ** 31;
}

/** A picture of noise, so that every weight and every pixel beyond an edge counts. */
function noise(width: number, height: number) {
  const pixels = Buffer.from(Array.from({ length: width * height * 3 }, () => random() * 256));
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

test("pictures are scaled down with sharp's bytes, with and without vector instructions", async () => {
  const sizes = Array.from({ length: 24 }, () => [17 + random() * 40, 17 + random() * 40].map(Math.floor));
  // Factors whose positions are exact, a side that stays as it is, and a position at the boundary of two masks.
  sizes.push([24, 24], [32, 20], [16, 60], [63, 17], [401, 321], [384, 384]);
  let compared = 0;
  for (const [width, height] of sizes) {
    const shortSide = width > 100 ? 256 : 16;
    const size = { width, height };
    const target = scaledSize(size, shortSide) ?? size;
    const image = noise(width, height);
    const png = await image.clone().png().toBuffer();
    for (const kernel of ["lanczos3", "linear", "cubic"] as const) {
      const expected = await image
        .clone()
        .resize({ ...target, fit: "fill", kernel })
        .raw()
        .toBuffer();
      for (const plain of [false, true]) {
        const got = await decodePicture(png, 0, false, 1e8, shortSide, kernel, plain);
        expect(got).toMatchObject(target);
        expect(Buffer.compare(expected, got!.pixels), `${width} × ${height}, ${kernel}`).toBe(0);
        compared++;
      }
    }
  }
  expect(compared).toBe(30 * 6);
});

test("a picture that has to become four times as small or smaller is left to sharp", async () => {
  const png = await noise(80, 70).png().toBuffer();
  expect(await decodePicture(png, 0, false, 1e8, 17, "lanczos3")).toMatchObject({ width: 80, height: 70 });
  expect(await decodePicture(png, 0, false, 1e8, 18, "lanczos3")).toMatchObject({ width: 21, height: 18 });
});

test("pictures that are decoded together have the same bytes, and others are marked", async () => {
  const folder = temporaryFolder();
  const paths = ["large.jpg", "small.png", "note.jpg", "progressive.jpg", "missing.jpg", "tall.jpg"].map((name) =>
    join(folder, name),
  );
  await noise(400, 300).toFile(paths[0]);
  await noise(30, 50).toFile(paths[1]);
  writeFileSync(paths[2], "this is not a picture");
  await noise(40, 40).jpeg({ progressive: true }).toFile(paths[3]);
  await noise(270, 330).toFile(paths[5]);
  const again = [...paths, paths[0]]; // also more pictures than before, in buffers that were used
  for (const list of [paths, again]) {
    const decoded = (await decodeBatch(list))!;
    using pixels = decoded.pixels;
    expect(pixels).toBeInstanceOf(Tensor);
    const bytes = pixels.bytes();
    let offset = 0;
    for (const [i, path] of list.entries()) {
      const [width, height] = decoded.sizes.subarray(2 * i, 2 * i + 2);
      if ([2, 3, 4].includes(i)) {
        expect([width, height]).toEqual([0, 0]);
        continue;
      }
      const one = await decodeFile(path);
      expect({ width, height }).toEqual({ width: one.width, height: one.height });
      expect(Buffer.compare(one.pixels, bytes.subarray(offset, offset + one.pixels.length))).toBe(0);
      offset += one.pixels.length;
    }
    expect(offset).toBe(bytes.length);
  }
  expect((await decodeBatch([]))!.sizes).toHaveLength(0);
});
