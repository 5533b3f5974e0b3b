/** Folders of small pictures made for a test, and the dataset they are. */

import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import sharp from "sharp";
import type { PictureDataset } from "../../src/data/dataset.js";

/** The pixels of a picture by a formula: another number, another picture. */
export function pixelsOf(number: number, width: number, height: number): Buffer {
  const bytes = Buffer.alloc(width * height * 3);
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * (7 + 2 * number) + 31 * number + (i >> 5)) & 255;
  return bytes;
}

export interface MadeFolder {
  /** Pictures of each class in each domain. */
  perCell: number;
  domains?: readonly string[];
  classes?: readonly string[];
  /** Width and height of the n-th picture. */
  size?: (number: number) => readonly [number, number];
}

/** Writes domain/class/n.png, and returns the dataset. */
export async function makePictureFolder(root: string, options: MadeFolder): Promise<PictureDataset> {
  const { perCell, domains = ["a", "b"], classes = ["x", "y"], size = () => [40, 32] } = options;
  const places = domains.flatMap((domain) =>
    classes.flatMap((name) =>
      Array.from({ length: perCell }, (_, i) => `${domain}/${name}/${String(i).padStart(3, "0")}.png`),
    ),
  );
  await Promise.all(
    places.map(async (place, number) => {
      const [width, height] = size(number);
      mkdirSync(dirname(join(root, place)), { recursive: true });
      await sharp(pixelsOf(number, width, height), { raw: { width, height, channels: 3 } })
        .png({ compressionLevel: 0 })
        .toFile(join(root, place));
    }),
  );
  return pictureFolder(root);
}

/** The dataset in a folder of domain/class/picture. */
export function pictureFolder(root: string): PictureDataset {
  const names = (folder: string): string[] => readdirSync(join(root, folder)).sort();
  const domains = names("");
  const classes = names(domains[0]);
  return {
    id: "image-folder",
    title: "test",
    kind: "pictures",
    root,
    classes,
    hasDomains: true,
    inputShape: [3, 224, 224],
    augmentable: true,
    options: {},
    notes: [],
    domains: domains.map((name) => {
      const files = classes.flatMap((each) => names(`${name}/${each}`).map((file) => `${name}/${each}/${file}`));
      const labels = Int32Array.from(files, (file) => classes.indexOf(file.split("/")[1]));
      return { name, files, labels, count: files.length };
    }),
  };
}
