/** The arithmetic of the page that runs a model in the browser, against that of `nudge predict`. */

import { join } from "node:path";
import sharp from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { storedColours, writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import type { Framing } from "../data/framing.js";
import { scope } from "../engine/scope.js";
import { loadModel } from "../model/index.js";
import { framedPixels } from "./page/framed-pixels.js";

const SIDE = 96;

test.each<Framing>([
  {},
  { resize: 110, interpolation: "bilinear" },
  { resize: 101, interpolation: "bicubic" },
  { interpolation: "bicubic" },
])("pictures become the bytes of predict: %o", async (framing) => {
  const folder = temporaryFolder();
  const inputShape = [3, SIDE, SIDE];
  // Without normalization, the tensor shows the bytes.
  const colours = { ...storedColours, mean: [0, 0, 0], std: [1, 1, 1] };
  const about = { preprocessing: { kind: "pictures", inputShape, shortSide: 256, ...framing, ...colours } };
  writeMadeModel(join(folder, "model.safetensors"), { inputShape, about });
  const model = await loadModel(join(folder, "model.safetensors"));
  onTestFinished(() => model.dispose());
  for (const [width, height] of [
    [120, 200],
    [96, 96],
    [250, 131],
    [700, 460],
  ]) {
    const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => {
      const [x, y] = [Math.floor(i / 3) % width, Math.floor(i / 3 / width)];
      return 127 + 90 * Math.sin(x / (3 + (i % 3))) + 37 * Math.cos(y / 7);
    });
    const png = await sharp(data, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer();
    const picture = await model.decode(png);
    const ours = scope(() => model.tensorOf([picture])!.mul(255).permute([0, 2, 3, 1]).toNumbers());
    const theirs = framedPixels({ data, width, height }, { size: SIDE, shortSide: 256, ...framing });
    const steps = ours.map((value, i) => Math.abs(Math.round(value) - theirs[i]));
    // Scaling down to the short side is sharp's in predict, and differs by its rounding.
    expect(Math.max(...steps)).toBeLessThanOrEqual(Math.min(width, height) > 256 ? 2 : 0);
  }
});
