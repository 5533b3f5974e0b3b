import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { afterAll, expect, test } from "vitest";
import { openSafetensors } from "../engine/safetensors.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { DataError } from "../errors.js";
import { decodeBytes, decodeFile, readsHeic } from "./decode.js";

const vectors = fileURLToPath(new URL("../../tests/vectors/decode.safetensors", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-decode-"));
afterAll(() => rmSync(folder, { recursive: true }));

const names = (() => {
  using file = openSafetensors(vectors);
  return [...file.tensors.keys()].filter((name) => name.startsWith("file/")).map((name) => name.slice(5));
})();

/** A picture of slow waves: nothing of it is lost by scaling. */
function waves(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let c = 0; c < 3; c++)
        bytes[(y * width + x) * 3 + c] = 128 + 100 * Math.sin((x * (c + 1)) / width + (y * 3) / height);
  return bytes;
}

const wavesAs = (width: number, height: number) => sharp(waves(width, height), { raw: { width, height, channels: 3 } });

test.each(names)("%s is what PIL makes of it", async (name) => {
  const [bytes, shape, expected] = scope(() => {
    const stored = readWeights(vectors);
    const pixels = stored.get(`pixels/${name}`);
    return [stored.get(`file/${name}`)?.bytes(), pixels?.shape, pixels?.bytes()] as const;
  });
  const picture = await decodeBytes(bytes as Uint8Array, name);
  expect([picture.height, picture.width, 3]).toEqual(shape);
  expect(picture.truncated).toBe(false);
  // Decoders of lossy formats may round differently; others may not.
  const allowed = /\.jpg$|lossy/.test(name) ? 2 : 0;
  const worst = picture.pixels.reduce((most, value, i) => Math.max(most, Math.abs(value - (expected?.[i] ?? 999))), 0);
  expect(worst).toBeLessThanOrEqual(allowed);
});

test("AVIF is decoded, and HEIC is an error with advice if sharp does not decode it", async () => {
  const bytes = await wavesAs(300, 420).avif({ quality: 90 }).toBuffer();
  const { width, height, pixels } = await decodeBytes(bytes, "a.avif", { shortSide: null });
  const stored = waves(300, 420);
  const off = pixels.reduce((sum, value, i) => sum + Math.abs(value - stored[i]), 0) / stored.length;
  expect({ width, height }).toEqual({ width: 300, height: 420 });
  expect(off).toBeLessThan(2);
  // The same boxes under HEIC's brand: by its header it is one, and only its codec gives it away.
  const heic = Buffer.from(bytes);
  heic.write("heic", 8, "latin1");
  heic.fill("heic", 16, bytes.readUInt32BE(0), "latin1");
  if (!readsHeic)
    await expect(decodeBytes(heic, "a.heic")).rejects.toThrow(
      "picture a.heic: could not be decoded: it is HEIC, which this build of sharp cannot decode: convert it to JPEG or PNG",
    );
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "asked to be upright, orientation %i is undone as a person sees it",
  async (orientation) => {
    // EXIF's orientations as turns clockwise, after a mirror left to right; what is stored is the picture with all of it undone.
    const [degrees, mirrored] = [[0, false], [0, true], [180, false], [180, true], [270, true], [90, false], [90, true], [270, false]][orientation - 1] as [number, boolean]; // biome-ignore format: a table
    const seen = await wavesAs(300, 420).png().toBuffer();
    // Undone in the other order: the turn first, then the mirror.
    const unturned = await sharp(seen)
      .rotate((360 - degrees) % 360)
      .png()
      .toBuffer();
    const stored = sharp(mirrored ? await sharp(unturned).flop().png().toBuffer() : unturned);
    for (const [bytes, allowed] of [
      [
        await stored
          .clone()
          .withMetadata({ orientation })
          .jpeg({ quality: 100, chromaSubsampling: "4:4:4" })
          .toBuffer(),
        6,
      ],
      [await stored.clone().withMetadata({ orientation }).png().toBuffer(), 2],
    ] as const)
      for (const shortSide of [null, 150]) {
        const upright = await decodeBytes(bytes, "turned", { shortSide, upright: true });
        const expected = await decodeBytes(seen, "seen", { shortSide });
        expect([upright.width, upright.height]).toEqual([expected.width, expected.height]);
        const worst = upright.pixels.reduce(
          (most, value, i) => Math.max(most, Math.abs(value - expected.pixels[i])),
          0,
        );
        expect(worst).toBeLessThanOrEqual(allowed);
        const asStored = await decodeBytes(bytes, "turned", { shortSide });
        expect(asStored.width > asStored.height).toBe(orientation >= 5);
      }
  },
);

test("16-bit grey keeps its high byte", async () => {
  const values = Uint16Array.from({ length: 64 }, (_, i) => i * 1000);
  const raw = { width: 8, height: 8, channels: 1 as const };
  const png = await sharp(values, { raw }).toColourspace("grey16").png().toBuffer();
  const { pixels } = await decodeBytes(png, "grey.png");
  expect(Array.from(pixels)).toEqual(Array.from(values).flatMap((value) => Array(3).fill(value >> 8)));
});

test.each(["jpeg", "png"] as const)("a %s cut short is read as far as it goes, and marked", async (format) => {
  const whole = await wavesAs(64, 64)[format]().toBuffer();
  const expected = (await decodeBytes(whole, "whole")).pixels;
  const cut = await decodeBytes(whole.subarray(0, Math.floor(whole.length * 0.8)), "cut");
  expect([cut.width, cut.height, cut.truncated]).toEqual([64, 64, true]);
  const firstRows = 64 * 3 * 16;
  expect(Array.from(cut.pixels.subarray(0, firstRows))).toEqual(Array.from(expected.subarray(0, firstRows)));
});

test("a picture with a long short side is scaled down to 256, others and all in full size are not", async () => {
  const large = await wavesAs(700, 350).jpeg({ quality: 100, chromaSubsampling: "4:4:4" }).toBuffer();
  const scaled = await decodeBytes(large, "large.jpg");
  expect([scaled.width, scaled.height]).toEqual([512, 256]);
  const direct = waves(512, 256);
  const worst = scaled.pixels.reduce((most, value, i) => Math.max(most, Math.abs(value - direct[i])), 0);
  expect(worst).toBeLessThanOrEqual(4);
  const full = await decodeBytes(large, "large.jpg", { shortSide: null });
  expect([full.width, full.height]).toEqual([700, 350]);
  const narrow = await decodeBytes(await wavesAs(900, 250).png().toBuffer(), "narrow.png");
  expect([narrow.width, narrow.height]).toEqual([900, 250]);
});

test("colour hidden under transparency is scaled like any other", async () => {
  const rgba = Buffer.alloc(600 * 600 * 4);
  for (let i = 0; i < rgba.length; i += 4) rgba.set([200, 100, 50, i % 8 === 0 ? 0 : 255], i);
  const png = await sharp(rgba, { raw: { width: 600, height: 600, channels: 4 } })
    .png()
    .toBuffer();
  const { pixels } = await decodeBytes(png, "hidden.png");
  expect(new Set(pixels)).toEqual(new Set([200, 100, 50]));
});

test.each([
  ["an empty file", Buffer.alloc(0), "empty: it has no bytes"],
  ["no picture", Buffer.from("hello, this is text"), "not a picture: its content is text"],
  [
    "an SVG, whatever it is called",
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>'),
    "its format, SVG, is not supported",
  ],
  ["a header alone", Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), "could not be decoded"],
  ["a bitmap of a billion pixels", hugeBitmap(), "40000 × 40000 pixels"],
])("%s is refused with its path", async (_, bytes, message) => {
  const path = join(folder, "odd ' \n name.jpg");
  writeFileSync(path, bytes);
  const decoding = decodeFile(path);
  await expect(decoding).rejects.toThrow(DataError);
  await expect(decoding).rejects.toThrow(message);
  await expect(decoding).rejects.toThrow("odd ' \\n name.jpg");
});

function hugeBitmap(): Buffer {
  const bytes = Buffer.alloc(100);
  bytes.write("BM");
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(40_000, 18);
  bytes.writeInt32LE(40_000, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  return bytes;
}

test("a missing file is refused with its path", async () => {
  await expect(decodeFile(join(folder, "none.jpg"))).rejects.toThrow(/none\.jpg: could not be read \(ENOENT/);
});

test("bitmaps cut anywhere, or with any byte changed, are a picture or an error, and never more", async () => {
  const bytes = scope(() => readWeights(vectors).get("file/palette.bmp")?.bytes()) as Uint8Array;
  for (let length = 0; length < bytes.length; length += 7) await attempt(bytes.subarray(0, length));
  for (let at = 0; at < 80; at++)
    for (const value of [0, 1, 127, 255]) await attempt(Uint8Array.from(bytes, (byte, i) => (i === at ? value : byte)));

  async function attempt(changed: Uint8Array): Promise<void> {
    try {
      const { width, height, pixels } = await decodeBytes(changed, "changed.bmp");
      expect(pixels.length).toBe(width * height * 3);
    } catch (error) {
      expect(error).toBeInstanceOf(DataError);
    }
  }
});
