#!/usr/bin/env node
/**
 * Draws docs/figures/emoji-styles.png: some emoji in the styles whose licences permit to show them in a figure under terms
 * of its own. OpenMoji and Emoji One (v1) are left out: a figure with them would be CC BY-SA 4.0.
 *
 *     npx nudge data get emoji && node scripts/make-emoji-figure.mjs data
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";

const root = process.argv[2] ?? "data";
const STYLES = [
  ...["noto", "noto-v1", "twemoji"],
  ...["fluent-emoji-flat", "fluent-emoji-high-contrast", "emojione-monotone"],
];
const EMOJI = [
  ...["mammal/1f98a", "mammal/1f42f", "bird/1f989", "small-animal/1f40c", "face/1f634", "hand/270c"],
  ...["plant/1f335", "produce/1f34d", "meal/1f354", "drink/1f379", "vehicle/1f682", "building/1f3f0", "sport/26bd"],
  ...["clothing/1f45f", "weather/26c5", "tool/1f528"],
];
const [CELL, GAP] = [56, 4];

const pictures = STYLES.flatMap((style, y) =>
  EMOJI.map(async (path, x) => ({
    input: await sharp(join(root, "emoji", style, `${path}.png`))
      .resize(CELL)
      .png()
      .toBuffer(),
    left: x * (CELL + GAP),
    top: y * (CELL + GAP),
  })),
);
const size = (/** @type {number} */ count) => count * (CELL + GAP) - GAP;
const out = fileURLToPath(new URL("../docs/figures/emoji-styles.png", import.meta.url));
await sharp({ create: { width: size(EMOJI.length), height: size(STYLES.length), channels: 3, background: "#fff" } })
  .composite(await Promise.all(pictures))
  .png({ palette: true, compressionLevel: 9 })
  .toFile(out);
process.stdout.write(`${out}\n`);
