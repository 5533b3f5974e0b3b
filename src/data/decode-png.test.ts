import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateSync, constants as zlib } from "node:zlib";
import sharp from "sharp";
import { afterAll, expect, test } from "vitest";
import { loadNative } from "../engine/load.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { decodeBytes, decodeFile } from "./decode.js";

const vectors = fileURLToPath(new URL("../../tests/vectors/decode.safetensors", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-png-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { decodePicture } = loadNative();
const decode = (bytes: Uint8Array) => decodePicture(bytes, 0, false, 1e8);

const stored = (name: string): Buffer => scope(() => Buffer.from(readWeights(vectors).get(name)!.bytes()));

const bySharp = (bytes: Buffer): Promise<Buffer> =>
  sharp(bytes, { ignoreIcc: true }).toColourspace("srgb").removeAlpha().raw().toBuffer();

function chunk(name: string, content: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

const samplesOf = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 } as const;

interface Made {
  width: number;
  height: number;
  colour: keyof typeof samplesOf;
  /** The filter of each row, one after the other. */
  filters?: readonly number[];
  packed?: (rows: Buffer) => Buffer;
  /** Chunks before the pixels. */
  before?: readonly Buffer[];
  header?: Partial<Record<8 | 10 | 11 | 12, number>>;
}

/** A PNG whose filtered bytes are half noise and half repetitions, so that every filter and kind of code occurs. */
function made({
  width,
  height,
  colour,
  filters = [0, 1, 2, 3, 4],
  packed = deflateSync,
  before = [],
  header = {},
}: Made): Buffer {
  const bytes = width * samplesOf[colour];
  let state = width * 1000 + height;
  const rows = Array.from({ length: height }, (_, y) =>
    Buffer.from([
      filters[y % filters.length],
      ...Array.from({ length: bytes }, (_, i) => {
        state = (state * 1103515245 + 12345) % 2 ** 31;
        return i % 64 < 40 ? (i % 7) * (y % 3) : state >> 16;
      }),
    ]),
  );
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, colour], 8);
  for (const [at, value] of Object.entries(header)) head[Number(at)] = value;
  const palette = Buffer.from(Array.from({ length: 768 }, (_, i) => (i * 37) % 256));
  const data = packed(Buffer.concat(rows));
  const half = data.length >> 1;
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    ...(colour === 3 ? [chunk("PLTE", palette)] : []),
    ...before,
    chunk("IDAT", data.subarray(0, half)),
    chunk("IDAT", data.subarray(half)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

test.each(["colour", "grey", "alpha"])("%s.png has PIL's bytes, from memory and from a file", async (name) => {
  const bytes = stored(`file/${name}.png`);
  const picture = await decode(bytes);
  expect(Buffer.compare(stored(`pixels/${name}.png`), picture!.pixels)).toBe(0);
  const path = join(folder, `${name}.png`);
  writeFileSync(path, bytes);
  expect(await decodeFile(path)).toEqual({ ...picture, truncated: false });
  expect(await decodeBytes(bytes, path)).toEqual({ ...picture, truncated: false });
});

test("any size, kind of colours and compression has sharp's bytes", async () => {
  for (const [width, height] of [[1, 1], [3, 2], [17, 33], [61, 47], [300, 40]]) // biome-ignore format: a list
    for (const colour of [0, 2, 3, 4, 6] as const)
      for (const [level, strategy] of [
        [0, zlib.Z_DEFAULT_STRATEGY],
        [1, zlib.Z_DEFAULT_STRATEGY],
        [9, zlib.Z_DEFAULT_STRATEGY],
        [6, zlib.Z_HUFFMAN_ONLY],
        [6, zlib.Z_RLE],
        [6, zlib.Z_FIXED],
      ]) {
        const bytes = made({ width, height, colour, packed: (rows) => deflateSync(rows, { level, strategy }) });
        const picture = await decode(bytes);
        expect([picture?.width, picture?.height]).toEqual([width, height]);
        expect(Buffer.compare(await bySharp(bytes), picture!.pixels)).toBe(0);
      }
});

test("codes of up to 15 bits are read", async () => {
  // Values whose frequencies double: the rarest have the longest codes.
  const values = Array.from({ length: 18 }, (_, i) => Array<number>(2 ** Math.min(i, 14)).fill(i * 13)).flat();
  const width = Math.floor(values.length / 3);
  const rows = Buffer.from([0, ...values.slice(0, width * 3)]);
  const packed = () => deflateSync(rows, { strategy: zlib.Z_HUFFMAN_ONLY, memLevel: 9 });
  const picture = await decode(made({ width, height: 1, colour: 2, packed }));
  expect(Buffer.compare(rows.subarray(1), picture!.pixels)).toBe(0);
});

test("chunks about colours, transparency and resolution change nothing", async () => {
  const plain = { width: 20, height: 15, colour: 2 } as const;
  const expected = (await decode(made(plain)))!.pixels;
  const gamma = Buffer.alloc(4);
  gamma.writeUInt32BE(100_000);
  const others = [
    chunk("gAMA", gamma),
    chunk("sBIT", Buffer.from([5, 6, 5])),
    chunk("tRNS", Buffer.from([0, 0, 0, 0, 0, 0])),
    chunk("pHYs", Buffer.from([0, 0, 11, 19, 0, 0, 11, 19, 1])),
    chunk("tEXt", Buffer.from("Software\0none", "latin1")),
  ];
  for (const before of [...others.map((other) => [other]), others]) {
    const bytes = made({ ...plain, before });
    expect(Buffer.compare(await bySharp(bytes), expected)).toBe(0);
    expect(Buffer.compare((await decode(bytes))!.pixels, expected)).toBe(0);
  }
});

test("other depths, interlaced and animated pictures are passed to the other decoder", async () => {
  const plain = { width: 20, height: 15, colour: 2 } as const;
  for (const other of [
    { header: { 8: 16 } },
    { header: { 12: 1 } },
    { header: { 10: 1 } },
    { before: [chunk("acTL", Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]))] },
    { before: [chunk("QUIT", Buffer.alloc(0))] },
    { filters: [5] },
  ])
    expect(await decode(made({ ...plain, ...other }))).toBeNull();
  expect(await decodePicture(made(plain), 0, false, 20 * 15 - 1)).toBeNull();
  expect(await decodePicture(made(plain), 10, true, 20 * 15)).not.toBeNull();
  for (const name of ["eXIf", "iTXt"])
    expect(await decodePicture(made({ ...plain, before: [chunk(name, Buffer.alloc(9))] }), 0, true, 1e8)).toBeNull();
});

test("a palette that lacks a colour, and data of another length or with a wrong checksum, are passed to the other decoder", async () => {
  const plain = { width: 20, height: 15, colour: 2 } as const;
  const packed = (change: (rows: Buffer) => Buffer) => made({ ...plain, packed: (rows) => change(rows) });
  expect(await decode(packed((rows) => deflateSync(rows)))).not.toBeNull();
  expect(await decode(packed((rows) => deflateSync(rows.subarray(1))))).toBeNull();
  expect(await decode(packed((rows) => deflateSync(Buffer.concat([rows, Buffer.alloc(1)]))))).toBeNull();
  expect(await decode(packed((rows) => Buffer.concat([deflateSync(rows), Buffer.alloc(1)])))).toBeNull();
  expect(await decode(packed((rows) => deflateSync(rows).subarray(0, -1)))).toBeNull();
  const wrong = (rows: Buffer): Buffer => {
    const data = deflateSync(rows);
    data[data.length - 1] ^= 1;
    return data;
  };
  expect(await decode(packed(wrong))).toBeNull();
  const bytes = made({ ...plain, colour: 3 });
  const start = bytes.indexOf("PLTE") - 4;
  const short = chunk("PLTE", Buffer.alloc(3));
  expect(await decode(bytes)).not.toBeNull();
  expect(await decode(Buffer.concat([bytes.subarray(0, start), short, bytes.subarray(start + 780)]))).toBeNull();
});

test("chunks whose type is not four letters, which libpng refuses, are passed to the other decoder", async () => {
  const png = await sharp({ create: { width: 4, height: 4, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  const withChunk = (name: string): Buffer =>
    Buffer.concat([png.subarray(0, 33), chunk(name, Buffer.from("x")), png.subarray(33)]);
  expect(await decode(withChunk("abCd"))).not.toBeNull();
  for (const name of ["a1Cd", "ab d", "ab\u007fd"]) {
    expect(await decode(withChunk(name))).toBeNull();
    await expect(bySharp(withChunk(name))).rejects.toThrow();
  }
});

test("a picture that is scaled down has the bytes of sharp's decoder and scaling", async () => {
  const bytes = made({ width: 131, height: 97, colour: 2, filters: [1] });
  const scaled = await decodeBytes(bytes, "scaled.png", { shortSide: 64 });
  expect([scaled.width, scaled.height]).toEqual([86, 64]);
  const raw = { raw: { width: 131, height: 97, channels: 3 as const } };
  const expected = await sharp(await bySharp(bytes), raw)
    .resize({ width: 86, height: 64, fit: "fill" })
    .raw()
    .toBuffer();
  expect(Buffer.compare(expected, scaled.pixels)).toBe(0);
});

test("a file that is cut, and a stream with any byte changed, is a whole picture or is passed to the other decoder", async () => {
  const plain = { width: 23, height: 17, colour: 6 } as const;
  const bytes = made(plain);
  for (let length = 0; length < bytes.length; length += 3) expect(await decode(bytes.subarray(0, length))).toBeNull();
  // Chunks whose checksums are right, so that the damage reaches the decompression.
  for (const strategy of [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED]) {
    let size = 1; // known after the first
    for (let at = 0; at < size; at++)
      for (const value of [0, 1, 128, 255]) {
        const packed = (rows: Buffer): Buffer => {
          const data = deflateSync(rows, { strategy });
          size = data.length;
          data[at] = value;
          return data;
        };
        const picture = await decode(made({ ...plain, packed }));
        if (picture) expect(picture.pixels.length).toBe(23 * 17 * 3);
      }
  }
});
