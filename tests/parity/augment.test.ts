/** The augmentation against PIL's and torchvision's pictures for the same draws (tests/vectors/augment.py). */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  type AugmentOptions,
  augmentOnHost,
  centreCropDraw,
  drawAugmentation,
  drawLength,
  type PixelBlock,
} from "../../src/data/augment.js";
import { augmentOnDevice } from "../../src/data/augment-device.js";
import type { Interpolation } from "../../src/data/framing.js";
import { devices } from "../../src/engine/device.js";
import { keyedRandom } from "../../src/engine/philox.js";
import { openSafetensors } from "../../src/engine/safetensors.js";
import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { expectClose } from "../support/close.js";

const VECTORS = fileURLToPath(new URL("../vectors/augment.safetensors", import.meta.url));

interface Case {
  title: string;
  source: string;
  size: number;
  /** The numbers of the draw; or the short side that is resized to before the centre is cropped. */
  draw?: number[];
  resize?: number;
  interpolation: Interpolation;
}

const cases: Case[] = (() => {
  using file = openSafetensors(VECTORS);
  return JSON.parse(file.metadata.cases);
})();

/** The kernel, and tensor operators on every device there is. */
const ways = [
  { name: "the kernel", augment: augmentOnHost, device: "cpu" },
  ...devices().map((device) => ({ name: `tensor operators on ${device}`, augment: augmentOnDevice, device })),
];

function drawOf({ draw, resize: shortSide = 0, size }: Case, [height, width]: readonly number[]): Float32Array {
  if (draw) return Float32Array.from(draw);
  const centre = new Float32Array(drawLength);
  centreCropDraw({ width, height }, { shortSide, size }, centre);
  return centre;
}

/** Without normalisation, times 255: the 8-bit picture. */
const asBytes: Pick<AugmentOptions, "mean" | "std"> = {
  mean: new Float32Array(3),
  std: new Float32Array(3).fill(1 / 255),
};

/** A picture [height, width, 3] as the one picture of a block on a device. */
function blockOf(picture: Tensor, device: string): PixelBlock {
  const [height, width] = picture.shape;
  return {
    source: picture.reshape(-1).to({ device }),
    offsets: Float64Array.of(0),
    sizes: Int32Array.of(width, height),
  };
}

for (const { name, augment, device } of ways) {
  test.each(cases.map((each, i) => [each.title, i] as const))(`PIL's picture, by ${name}: %s`, (_, i) => {
    const { source, size, interpolation } = cases[i];
    scope(() => {
      const stored = readWeights(VECTORS);
      const picture = stored.get(`source/${source}`) as Tensor;
      const expected = (stored.get(`result/${i}`) as Tensor).permute([2, 0, 1]).unsqueeze(0);
      const made = augment(blockOf(picture, device), drawOf(cases[i], picture.shape), {
        ...{ size, interpolation, ...asBytes },
      });
      expectClose(made, expected, { atol: 1e-3 }); // the same byte, where 2 would do
    });
  });

  test(`normalization equals torchvision's, by ${name}`, () => {
    const { source, size, draw } = cases.findLast(({ title }) => title.startsWith("everything")) as Case;
    scope(() => {
      const stored = readWeights(VECTORS);
      const picture = stored.get(`source/${source}`) as Tensor;
      const made = augment(blockOf(picture, device), Float32Array.from(draw!), { size });
      expectClose(made, (stored.get("normalised") as Tensor).unsqueeze(0), { rtol: 1e-6, atol: 1e-6 });
    });
  });
}

test.each(devices())("for a batch of many sizes, tensor operators on %s equal the kernel in both layouts", (device) => {
  const random = keyedRandom(3, "augment test");
  const shapes = Array.from({ length: 24 }, () => [20 + random.integer(60), 20 + random.integer(60)]);
  shapes.push([300, 9], [7, 280]);
  const lengths = shapes.map(([width, height]) => width * height * 3);
  const offsets = Float64Array.from(lengths, (_, i) => 5 + lengths.slice(0, i).reduce((sum, each) => sum + each, 0));
  const bytes = Uint8Array.from({ length: (offsets.at(-1) ?? 0) + (lengths.at(-1) ?? 0) }, () => random.integer(256));
  const draws = new Float32Array(shapes.length * drawLength);
  for (const [i, [width, height]] of shapes.entries())
    drawAugmentation(random, width, height, draws.subarray(i * drawLength, (i + 1) * drawLength));
  scope(() => {
    const block = { source: tensor(bytes), offsets, sizes: Int32Array.from(shapes.flat()) };
    for (const channelsLast of [false, true]) {
      const interpolation = channelsLast ? "bicubic" : "bilinear";
      const options = { size: 32, channelsLast, interpolation, ...asBytes } as const;
      const byKernel = augmentOnHost(block, draws, options);
      const byOperators = augmentOnDevice({ ...block, source: block.source.to({ device }) }, draws, options);
      expect([byKernel.isChannelsLast, byOperators.isChannelsLast]).toEqual([channelsLast, channelsLast]);
      expectClose(byOperators, byKernel, { atol: 1e-3 }); // the same byte, where 2 would do
    }
  });
});
