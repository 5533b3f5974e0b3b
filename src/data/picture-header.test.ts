import sharp from "sharp";
import { expect, test } from "vitest";
import { pictureBytes } from "../../tests/support/picture-folder.js";
import { keyedRandom } from "../engine/philox.js";
import { bytesInMemory } from "./picture-header/tiff-tags.js";
import { formatOfName, type HeaderReading, type PictureHeader, readPictureHeader } from "./picture-header.js";

const read = (bytes: Uint8Array): HeaderReading => readPictureHeader(bytesInMemory(bytes));

function header(bytes: Uint8Array): PictureHeader {
  const reading = read(bytes);
  if ("problem" in reading) throw new Error(reading.problem);
  return reading.header;
}

const names = {
  "a.jpg": "JPEG",
  "a.png": "PNG",
  "a.webp": "WebP",
  "a.tiff": "TIFF",
  "a.gif": "GIF",
  "a.avif": "AVIF",
} as const;

test.each(Object.entries(names))("the header of %s is that of a %s", async (name, format) => {
  const bytes = await pictureBytes(name, 3, { width: 300, height: 41 });
  expect(header(bytes)).toMatchObject({
    format,
    width: 300,
    height: 41,
    alpha: false,
    bits: 8,
    orientation: 1,
    truncated: false,
  });
  expect(formatOfName(`dir/${name.toUpperCase()}`)).toBe(format);
});

test.each(Object.entries(names))("%s that is cut anywhere is found out", async (name) => {
  const bytes = await pictureBytes(name, 3, { width: 64, height: 48 });
  for (let length = 0; length < bytes.length; length++) {
    const reading = read(bytes.subarray(0, length));
    expect("problem" in reading || reading.header.truncated, `${length} of ${bytes.length} bytes`).toBe(true);
  }
});

test("bytes after the end are not damage", async () => {
  for (const name of Object.keys(names)) {
    const padded = Buffer.concat([await pictureBytes(name), Buffer.alloc(100)]);
    expect(header(padded).truncated, name).toBe(false);
  }
});

test("EXIF's orientation is read wherever a format keeps it", async () => {
  for (const name of ["a.jpg", "a.png", "a.webp", "a.tiff"]) {
    const bytes = await pictureBytes(name, 1, { orientation: 6 });
    expect((await sharp(bytes).metadata()).orientation, `${name} by sharp`).toBe(6);
    expect(header(bytes).orientation, name).toBe(6);
  }
});

test("grey, CMYK, alpha, palette and 16-bit pictures are distinguished", async () => {
  const grey = { create: { width: 5, height: 4, channels: 3, background: "#808080" } } as const;
  const clear = { create: { width: 5, height: 4, channels: 4, background: "#80808080" } } as const;
  expect(header(await sharp(grey).toColourspace("b-w").jpeg().toBuffer())).toMatchObject({ colours: "grey" });
  expect(header(await sharp(grey).toColourspace("cmyk").jpeg().toBuffer())).toMatchObject({ colours: "CMYK" });
  expect(header(await sharp(grey).toColourspace("cmyk").tiff().toBuffer())).toMatchObject({ colours: "CMYK" });
  expect(header(await sharp(clear).png().toBuffer())).toMatchObject({ colours: "colour", alpha: true });
  expect(header(await sharp(clear).webp().toBuffer())).toMatchObject({
    format: "WebP",
    width: 5,
    height: 4,
    alpha: true,
  });
  expect(header(await sharp(clear).webp({ lossless: true }).toBuffer())).toMatchObject({
    width: 5,
    height: 4,
    alpha: true,
  });
  expect(header(await sharp(grey).png({ palette: true }).toBuffer())).toMatchObject({ colours: "palette" });
  expect(header(await sharp(grey).toColourspace("rgb16").png().toBuffer())).toMatchObject({ bits: 16 });
  expect(header(await sharp(grey).tiff({ bigtiff: true }).toBuffer())).toMatchObject({
    format: "TIFF",
    width: 5,
    height: 4,
  });
  expect(header(await sharp(grey).jpeg({ progressive: true }).toBuffer())).toMatchObject({ width: 5, height: 4 });
});

/** An uncompressed BMP of 24 bits. */
function bmp(width: number, height: number): Buffer {
  const pixels = Math.ceil((width * 3) / 4) * 4 * Math.abs(height);
  const bytes = Buffer.alloc(54 + pixels);
  bytes.write("BM");
  for (const [at, value] of [
    [2, bytes.length],
    [10, 54],
    [14, 40],
    [18, width],
    [22, height],
  ])
    bytes.writeInt32LE(value, at);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  return bytes;
}

test("BMP is read, from the bottom or from the top, and must hold its pixels", () => {
  expect(header(bmp(5, 7))).toMatchObject({ format: "BMP", width: 5, height: 7, truncated: false });
  expect(header(bmp(5, -7))).toMatchObject({ width: 5, height: 7, truncated: false });
  expect(header(bmp(5, 7).subarray(0, -1)).truncated).toBe(true);
});

test("PPM and PGM are read, comments and all", () => {
  const ppm = Buffer.concat([Buffer.from("P6\n# made by hand\n3 2\n255\n"), Buffer.alloc(18)]);
  expect(header(ppm)).toMatchObject({ format: "PPM", width: 3, height: 2, colours: "colour", truncated: false });
  expect(header(ppm.subarray(0, -1)).truncated).toBe(true);
  const pgm = Buffer.concat([Buffer.from("P5 3 2 65535\n"), Buffer.alloc(12)]);
  expect(header(pgm)).toMatchObject({ format: "PGM", colours: "grey", bits: 16, truncated: false });
});

test.each([
  [Buffer.alloc(0), "empty: it has no bytes"],
  [
    Buffer.from("<!DOCTYPE html><html>404</html>"),
    "not a picture: its content is an HTML page, as after a failed download",
  ],
  [
    Buffer.from("version https://git-lfs.github.com/spec/v1"),
    "not a picture: its content is a Git LFS pointer; fetch the files with git lfs pull",
  ],
  [Buffer.alloc(100), "not a picture: its content is only zeros, as in a failed copy"],
  [Buffer.from("just words"), "not a picture: its content is text"],
  [Buffer.from([1, 2, 3, 4, 200]), "not a picture: its content is of an unknown format"],
  [Buffer.from("\0\0\0\x0cftypavif"), "an AVIF cut off before its size"],
  [Buffer.from("\0\0\0\x0cftypheic"), "an HEIC cut off before its size"],
  [Buffer.from("\0\0\0\x0cJXL \r\n\x87\n"), "its format, JPEG XL, is not supported: convert it to JPEG or PNG"],
  [Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 8, 0, 0]), "a JPEG without a frame"],
])("a file that is not a picture is reported with its type (%#)", (bytes, problem) => {
  expect(read(bytes)).toEqual({ problem });
});

test("damaged headers never throw", async () => {
  const random = keyedRandom(1, "damage");
  for (const name of Object.keys(names)) {
    const whole = await pictureBytes(name, 2, { orientation: 3 });
    for (let trial = 0; trial < 400; trial++) {
      const bytes = Buffer.from(whole);
      for (let i = 0; i < 8; i++) bytes[4 + random.integer(Math.min(bytes.length - 4, 200))] = random.integer(256);
      const reading = read(bytes);
      expect("problem" in reading ? reading.problem : reading.header.format).toBeTypeOf("string");
    }
  }
});
