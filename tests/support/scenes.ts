/** Folders of pictures that differ as photographs do: smooth shapes, drawn at random from a seed. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import sharp, { type Sharp } from "sharp";
import { RandomState } from "../../src/reference/mt19937.js";

/** The n-th scene, 160 × 120 pixels. */
export function scene(n: number): Sharp {
  const random = new RandomState(n);
  const cells = Uint8Array.from({ length: 8 * 6 * 3 }, () => Math.floor(256 * random.double()));
  return sharp(cells, { raw: { width: 8, height: 6, channels: 3 } }).resize(160, 120, { fit: "fill", kernel: "cubic" });
}

/** Writes domain/class/n.png, from the scene with number `from` on. No two pictures are alike. */
export async function makeScenes(
  root: string,
  {
    perCell,
    domains,
    classes,
    from = 0,
  }: { perCell: number; domains: readonly string[]; classes: readonly string[]; from?: number },
): Promise<void> {
  let n = from;
  for (const domain of domains)
    for (const name of classes) {
      mkdirSync(join(root, domain, name), { recursive: true });
      for (let i = 0; i < perCell; i++)
        await scene(n++)
          .png()
          .toFile(join(root, domain, name, `${i}.png`));
    }
}

/** A picture's copies: smaller, compressed again, and without a margin. */
export async function writeAltered(path: string): Promise<void> {
  const to = (what: string): string => path.replace(/\.png$/, `-${what}.jpg`);
  await sharp(path).resize(93, 70, { fit: "fill" }).jpeg({ quality: 80 }).toFile(to("smaller"));
  await sharp(path).jpeg({ quality: 40 }).toFile(to("compressed"));
  await sharp(path).extract({ left: 4, top: 3, width: 152, height: 114 }).jpeg({ quality: 85 }).toFile(to("cropped"));
}
