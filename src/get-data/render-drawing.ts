/**
 * Renders a drawing of an emoji to a picture by fixed rules: white, with a border of 1/14 of its size, the drawing as
 * large as fits between the borders and in the middle, black where the drawing asks for the colour of the text. By
 * default the picture has 224 × 224 pixels and a border of 16.
 */
import { join } from "node:path";
import sharp from "sharp";
import { DataError } from "../errors.js";
import type { Drawing } from "./emoji-drawings.js";

export const WHITE = "#ffffff";

/** What was done with the drawings, for those who share the pictures. */
export const CHANGES = "rendered to PNG on white with a border";

/** The program that renders, with its versions. */
export const renderer = (): string =>
  `sharp ${sharp.versions.sharp}, libvips ${sharp.versions.vips}, librsvg ${sharp.versions.rsvg ?? "of the system"}`;

export interface Rendered {
  readonly png: Buffer;
  /** Rows from the top, then pixels, then red, green, blue. */
  readonly pixels: Buffer;
}

/** Renders a drawing. `set` is for errors. */
export async function renderDrawing(drawing: Drawing, size: number, set: string): Promise<Rendered> {
  const { body, width, height, code, name } = drawing;
  const border = Math.round(size / 14);
  const inner = size - 2 * border;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${inner}" height="${inner}" ` +
    `viewBox="0 0 ${width} ${height}" preserveAspectRatio="xMidYMid meet" color="#000">${body}</svg>`;
  const where = `${set}: drawing ${name} (emoji ${code})`;
  try {
    const edges = { top: border, bottom: border, left: border, right: border };
    const { data: pixels } = await sharp(Buffer.from(svg))
      .flatten({ background: WHITE })
      .toColourspace("srgb")
      .removeAlpha()
      .extend({ ...edges, background: WHITE })
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true });
    if (pixels.length !== 3 * size * size)
      throw new Error(`expected ${3 * size * size} bytes of pixels, got ${pixels.length}`);
    if (pixels.every((value) => value === 255)) throw new Error("the picture is empty");
    const raw = { width: size, height: size, channels: 3 } as const;
    const png = await sharp(pixels, { raw }).png({ compressionLevel: 6 }).toBuffer();
    return { png, pixels };
  } catch (cause) {
    throw new DataError(`${where} could not be rendered: ${(cause as Error).message.trim()}`, { cause });
  }
}

/** The path of a picture below the folder of the dataset. */
export const pictureFile = (style: string, { class: label, code }: Pick<Drawing, "class" | "code">): string =>
  join(style, label, `${code}.png`);
