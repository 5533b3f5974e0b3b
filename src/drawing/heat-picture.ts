/** Heat maps (model/heat-map.ts) as pictures to be laid over the pictures that they explain. */

import sharp from "sharp";

/** Rows of values from 0 to 1 that cover the whole picture. */
export type HeatMap = readonly (readonly number[])[];

/** The colour of heat: a single hue, so that it does not depend on colour vision. The opacity shows the value. */
const HEAT = [255, 60, 0] as const;
const MOST_OPAQUE = 0.7;

/** A heat map as a picture with transparency, with the size of the picture that it is laid over. */
export async function heatPicture(
  heat: HeatMap,
  { width, height }: { width: number; height: number },
): Promise<Buffer> {
  const [rows, columns] = [heat.length, heat[0].length];
  const opacity = Buffer.from(heat.flat().map((value) => Math.round(255 * MOST_OPAQUE * value)));
  const alpha = await sharp(opacity, { raw: { width: columns, height: rows, channels: 1 } })
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  const pixels = Buffer.alloc(4 * width * height);
  for (let i = 0; i < width * height; i++) pixels.set([...HEAT, alpha[i]], 4 * i);
  return sharp(pixels, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

/** The longest side of a heat map on a page, the same as that of the pictures it is laid over. */
const SIDE = 144;

/** A heat map for a page, as a data URI, in the proportions of its picture. */
export async function heatUri(heat: HeatMap, { width, height }: { width: number; height: number }): Promise<string> {
  const scale = Math.min(1, SIDE / Math.max(width, height));
  const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
  return `data:image/png;base64,${(await heatPicture(heat, size)).toString("base64")}`;
}
