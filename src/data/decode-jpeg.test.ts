import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { afterAll, expect, test } from "vitest";
import { loadNative } from "../engine/load.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { decodeBytes, decodeFile } from "./decode.js";

const vectors = fileURLToPath(new URL("../../tests/vectors/decode.safetensors", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-jpeg-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { decodePicture } = loadNative();
const decode = (bytes: Uint8Array) => decodePicture(bytes, 0, false, 1e8);

const stored = (name: string): Buffer => scope(() => Buffer.from(readWeights(vectors).get(name)!.bytes()));

/** A picture whose every number looks drawn at random, but for a slow wave: neighbours differ in all frequencies. */
function rough(width: number, height: number): Buffer {
  let state = width * 1000 + height;
  return Buffer.from(
    Array.from({ length: width * height * 3 }, (_, i) => {
      state = (state * 1103515245 + 12345) % 2 ** 31;
      return 128 + 90 * Math.sin(i / 50) + (state % 61) - 30;
    }),
  );
}

/** What sharp decodes, by way of libjpeg's code. */
const bySharp = (bytes: Buffer): Promise<Buffer> => sharp(bytes).toColourspace("srgb").removeAlpha().raw().toBuffer();

test.each(["colour", "subsampled", "grey", "turned"])(
  "%s.jpg has PIL's bytes, from memory and from a file",
  async (name) => {
    const bytes = stored(`file/${name}.jpg`);
    const picture = await decode(bytes);
    expect(Buffer.compare(stored(`pixels/${name}.jpg`), picture!.pixels)).toBe(0);
    const path = join(folder, `${name}.jpg`);
    writeFileSync(path, bytes);
    expect(await decodePicture(path, 0, false, 1e8)).toEqual(picture);
    expect(await decodeFile(path)).toEqual({ ...picture, truncated: false });
    expect(await decodeBytes(bytes, path)).toEqual({ ...picture, truncated: false });
  },
);

test("any size, sampling of colours and quality has libjpeg's bytes", async () => {
  let decoded = 0;
  for (const [width, height] of [[1, 1], [3, 2], [7, 9], [8, 8], [16, 16], [17, 33], [40, 5], [61, 47], [5, 130]]) // biome-ignore format: a list
    for (const chromaSubsampling of ["4:4:4", "4:2:0"])
      for (const quality of [5, 60, 100]) {
        const image = sharp(rough(width, height), { raw: { width, height, channels: 3 } });
        const bytes = await image.jpeg({ quality, chromaSubsampling, optimiseCoding: quality > 50 }).toBuffer();
        const picture = await decode(bytes);
        if (!picture) continue; // four pixels across at half the width
        decoded++;
        expect(Buffer.compare(await bySharp(bytes), picture.pixels)).toBe(0);
      }
  expect(decoded).toBeGreaterThanOrEqual(48);
});

test("blocks of one colour with restart markers have the values that they were written with", async () => {
  // The first coefficients of six grey blocks in a row; a block's samples are 128 + q·coefficient / 8.
  const coefficients = [10, -30, 7, 7, 100, -2];
  const expected = coefficients.map((each) => 128 + (8 * each) / 8);
  const bytes = flatBlocks(coefficients, 2);
  const picture = await decode(bytes);
  expect([picture?.width, picture?.height]).toEqual([48, 8]);
  expect(Array.from({ length: 6 }, (_, i) => picture!.pixels[i * 8 * 3 + 48 * 3 * 7 + 5])).toEqual(expected);
  // The same marker twice is damage, and for the other decoder to judge.
  const second = bytes.lastIndexOf(Buffer.from([0xff, 0xd1]));
  bytes[second + 1] = 0xd0;
  expect(await decode(bytes)).toBeNull();
});

/** A grey JPEG of blocks in a row, whose codes have four bits for a length and one for the end of a block. */
function flatBlocks(coefficients: readonly number[], restart: number): Buffer {
  const segment = (marker: number, content: readonly number[]): number[] => [
    ...[0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 255],
    ...content,
  ];
  const scan: number[] = [];
  let bits = "";
  let last = 0;
  const flush = (): void => {
    const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1");
    for (let i = 0; i < whole.length; i += 8) {
      const byte = Number.parseInt(whole.slice(i, i + 8), 2);
      scan.push(byte, ...(byte === 255 ? [0] : []));
    }
    bits = "";
  };
  for (const [i, coefficient] of coefficients.entries()) {
    if (i > 0 && i % restart === 0) {
      flush();
      scan.push(0xff, 0xd0 + ((i / restart - 1) % 8));
      last = 0;
    }
    const difference = coefficient - last;
    last = coefficient;
    const length = difference === 0 ? 0 : Math.abs(difference).toString(2).length;
    const number = difference < 0 ? difference + 2 ** length - 1 : difference;
    const code = length.toString(2).padStart(4, "0");
    bits += `${code}${length ? number.toString(2).padStart(length, "0") : ""}0`;
  }
  flush();
  const lengths = (...codes: [length: number, count: number][]): number[] => {
    const counts = new Array<number>(16).fill(0);
    for (const [length, count] of codes) counts[length - 1] = count;
    return counts;
  };
  return Buffer.from([
    ...[0xff, 0xd8],
    ...segment(0xdb, [0, ...new Array<number>(64).fill(8)]),
    ...segment(0xc0, [8, 0, 8, 0, 8 * coefficients.length, 1, 1, 0x11, 0]),
    ...segment(0xc4, [0x00, ...lengths([4, 12]), ...Array(12).keys()]),
    ...segment(0xc4, [0x10, ...lengths([1, 1]), 0]),
    ...segment(0xdd, [0, restart]),
    ...segment(0xda, [1, 1, 0x00, 0, 63, 0]),
    ...scan,
    ...[0xff, 0xd9],
  ]);
}

test.each(["progressive", "cmyk"])("%s.jpg is passed to the other decoder", async (name) => {
  expect(await decode(stored(`file/${name}.jpg`))).toBeNull();
});

test("pictures that are too large, or must be scaled or rotated, are passed to the other decoder", async () => {
  const turned = stored("file/turned.jpg");
  const { width, height } = (await decode(turned))!;
  expect(await decodePicture(turned, 0, true, 1e8)).toBeNull();
  expect(await decodePicture(turned, 0, false, width * height - 1)).toBeNull();
  expect(await decodePicture(turned, Math.min(width, height) - 1, false, 1e8)).toBeNull();
  expect(await decodePicture(turned, Math.min(width, height), false, width * height)).not.toBeNull();
});

test("a picture that is scaled down has the bytes of one that sharp decodes and scales at once", async () => {
  for (const [width, height] of [[100, 75], [131, 97], [64, 121], [400, 122]]) // biome-ignore format: a list
    for (const colours of ["4:4:4", "4:2:0", "grey"]) {
      const image = sharp(rough(width, height), { raw: { width, height, channels: 3 } });
      if (colours === "grey") image.toColourspace("b-w");
      const chromaSubsampling = colours === "grey" ? undefined : colours;
      const bytes = await image.jpeg({ quality: 90, chromaSubsampling }).toBuffer();
      const scaled = await decodeBytes(bytes, "scaled.jpg", { shortSide: 64 });
      expect(Math.min(scaled.width, scaled.height)).toBe(64);
      const { width: w, height: h } = scaled;
      const atOnce = sharp(bytes).toColourspace("srgb").resize({ width: w, height: h, fit: "fill" });
      const expected = await atOnce.raw().toBuffer();
      expect(Buffer.compare(expected, scaled.pixels)).toBe(0);
    }
});

test("missing files, folders and other file types are passed to the other decoder; an invalid path is an error", async () => {
  const text = join(folder, "text.jpg");
  writeFileSync(text, "no picture");
  for (const path of [join(folder, "none.jpg"), folder, text])
    expect(await decodePicture(path, 0, false, 1e8)).toBeNull();
  for (const bad of ["", "a\0b", 7, null]) expect(() => decodePicture(bad as string, 0, false, 1e8)).toThrow(/picture/);
  await expect(decodeFile("a\0b")).rejects.toThrow("could not be read");
});

/** The place of a segment's content after its length. */
const segment = (jpeg: Buffer, marker: number): number => jpeg.indexOf(Buffer.from([0xff, marker])) + 4;

test("Huffman tables that libjpeg refuses are passed to the other decoder", async () => {
  const image = sharp(rough(16, 16), { raw: { width: 16, height: 16, channels: 3 } });
  const jpeg = await image.jpeg({ optimiseCoding: false }).toBuffer();
  expect(await decode(jpeg)).not.toBeNull();
  const table = segment(jpeg, 0xc4);
  expect(jpeg[table]).toBe(0); // of first coefficients: 12 codes of up to 9 bits
  const longNumber = Buffer.from(jpeg);
  longNumber[table + 17 + 11] = 16;
  const allOnes = Buffer.concat([jpeg.subarray(0, table + 29), Buffer.from([12]), jpeg.subarray(table + 29)]);
  allOnes[table + 9]++;
  allOnes[table - 1]++;
  for (const bad of [longNumber, allOnes]) {
    expect(await decode(bad)).toBeNull();
    await expect(bySharp(bad)).rejects.toThrow(/Bogus Huffman table/);
  }
});

test("blocks whose sums libjpeg-turbo saturates have its bytes, or are passed to the other decoder", async () => {
  let state = 1;
  const random = (): number => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
  let same = 0;
  for (let n = 0; n < 120; n++) {
    // Black and white noise, and then other steps of quantisation than it was written with.
    const noise = Buffer.from(Array.from({ length: 16 * 16 * 3 }, () => (random() < 0.5 ? 0 : 255)));
    const image = sharp(noise, { raw: { width: 16, height: 16, channels: 3 } });
    const jpeg = await image.jpeg({ quality: 95, chromaSubsampling: "4:4:4" }).toBuffer();
    for (let k = 1; k <= 64; k++) jpeg[segment(jpeg, 0xdb) + k] = 1 + Math.floor(random() * (1 + (n % 30)));
    const picture = await decode(jpeg);
    if (!picture) continue;
    same++;
    expect(Buffer.compare(await bySharp(jpeg), picture.pixels), `picture ${n}`).toBe(0);
  }
  expect(same).toBeGreaterThan(10);
});

test("a file that is cut or has a changed byte is a whole picture or is passed to the other decoder", async () => {
  const bytes = stored("file/subsampled.jpg");
  for (let length = 0; length < bytes.length; length += 5) expect(await decode(bytes.subarray(0, length))).toBeNull();
  for (let at = 0; at < bytes.length; at += 3)
    for (const value of [0, 1, 128, 255]) {
      const changed = Buffer.from(bytes);
      changed[at] = value;
      const picture = await decode(changed);
      if (picture) expect(picture.pixels.length).toBe(picture.width * picture.height * 3);
    }
});
