import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { EngineError, UsageError } from "../errors.js";
import { augmentOnHost, domainBedAugmentation, drawAugmentation, drawField, drawLength, plainDraw } from "./augment.js";

const vectors = fileURLToPath(new URL("../../tests/vectors/augment.safetensors", import.meta.url));

/** Draws for pictures of one size, each from a stream of its own. */
function manyDraws(count: number, width = 227, height = 227): Float32Array[] {
  return Array.from({ length: count }, (_, i) => {
    const draw = new Float32Array(drawLength);
    drawAugmentation(keyedRandom(0, "augment", 7, 1, i), width, height, draw);
    return draw;
  });
}

/** The largest distance between the distribution of some numbers and the uniform one (Kolmogorov and Smirnov). */
function distanceFromUniform(values: readonly number[], from: number, to: number): number {
  const sorted = values.map((value) => (value - from) / (to - from)).sort((a, b) => a - b);
  return sorted.reduce(
    (most, share, i) => Math.max(most, share - i / sorted.length, (i + 1) / sorted.length - share),
    0,
  );
}

const count = 20_000;
/** With a probability of one in a million a true sample of `count` is further away than this. */
const allowedDistance = 2.7 / Math.sqrt(count);
/** Five standard deviations of a share of `count`. */
const allowedShare = (probability: number): number => 5 * Math.sqrt((probability * (1 - probability)) / count);

test("factors and hue are uniform on their intervals", () => {
  const draws = manyDraws(count);
  const { brightness, contrast, saturation, hue } = domainBedAugmentation;
  for (const [name, [from, to]] of Object.entries({ brightness, contrast, saturation, hue })) {
    const values = draws.map((draw) => draw[drawField[name as "hue"]]);
    expect(distanceFromUniform(values, from, to), name).toBeLessThan(allowedDistance);
  }
});

test("half are flipped, a tenth lose their colour, and the 24 orders are equally frequent", () => {
  const draws = manyDraws(count);
  const share = (field: number): number => draws.filter((draw) => draw[field] === 1).length / count;
  expect(Math.abs(share(drawField.flip) - 0.5)).toBeLessThan(allowedShare(0.5));
  expect(Math.abs(share(drawField.gray) - 0.1)).toBeLessThan(allowedShare(0.1));
  const orders = new Map<string, number>();
  for (const draw of draws) {
    const order = draw.subarray(drawField.order, drawField.order + 4).join();
    orders.set(order, (orders.get(order) ?? 0) + 1);
  }
  expect(orders.size).toBe(24);
  for (const [order, times] of orders)
    expect(Math.abs(times / count - 1 / 24), order).toBeLessThan(allowedShare(1 / 24));
});

test.each([
  [227, 227],
  [320, 240],
  [90, 400], // so narrow that most tries do not fit, and the central crop comes in
])("crops of %i × %i pictures are distributed as torchvision's", (width, height) => {
  const deciles = scope(() => (readWeights(vectors).get(`crops/${width}x${height}`) as Tensor).toArray() as number[][]);
  const draws = manyDraws(count, width, height);
  for (const [field, name] of ["left", "top", "width", "height"].entries())
    for (const [i, row] of deciles.entries()) {
      const below = draws.filter((draw) => draw[field] < row[field]).length / count;
      const upTo = draws.filter((draw) => draw[field] <= row[field]).length / count;
      const allowed = (5 * Math.sqrt(2 * 0.25)) / Math.sqrt(count); // both are samples
      expect(below, `${name}, decile ${i + 1}`).toBeLessThan((i + 1) / 10 + allowed);
      expect(upTo, `${name}, decile ${i + 1}`).toBeGreaterThan((i + 1) / 10 - allowed);
    }
});

test("crops of pictures of any size lie in the picture, down to one pixel", () => {
  const random = keyedRandom(1, "sizes");
  const draw = new Float32Array(drawLength);
  for (let i = 0; i < 3000; i++) {
    const [width, height] = [1 + random.integer(i % 3 ? 300 : 3), 1 + random.integer(i % 5 ? 300 : 2)];
    drawAugmentation(random, width, height, draw);
    const [left, top, w, h] = draw;
    expect(w >= 1 && h >= 1 && left >= 0 && top >= 0 && left + w <= width && top + h <= height).toBe(true);
    expect([left, top, w, h].every(Number.isInteger)).toBe(true);
  }
});

test("a picture has the same colour draws at every size", () => {
  const [small, large] = [new Float32Array(drawLength), new Float32Array(drawLength)];
  drawAugmentation(keyedRandom(5, "x"), 30, 20, small);
  drawAugmentation(keyedRandom(5, "x"), 3000, 1000, large);
  expect(small.subarray(4)).toEqual(large.subarray(4));
});

test("a draw that reaches outside its picture, or pixels that are not there, are refused and never read", () => {
  scope(() => {
    const source = tensor(new Uint8Array(10 * 10 * 3));
    const block = { source, offsets: Float64Array.of(0), sizes: Int32Array.of(10, 10) };
    const draw = new Float32Array(drawLength);
    plainDraw(10, 10, draw);
    const attempt = (change: Partial<Record<number, number>>, other = {}) => {
      const changed = Float32Array.from(draw, (value, i) => change[i] ?? value);
      return () => augmentOnHost({ ...block, ...other }, changed, { size: 4 });
    };
    expect(attempt({})().shape).toEqual([1, 3, 4, 4]);
    for (const change of [{ 0: 1 }, { 1: 2 }, { 0: -1 }, { 2: 0 }, { 3: 11 }, { 2: Number.NaN }, { 3: 1e30 }])
      expect(attempt(change), JSON.stringify(change)).toThrow(EngineError);
    expect(attempt({}, { offsets: Float64Array.of(1) })).toThrow("outside the picture");
    expect(attempt({}, { offsets: Float64Array.of(-1) })).toThrow("outside the picture");
    expect(attempt({}, { sizes: Int32Array.of(100_000, 10) })).toThrow("outside the picture");
    expect(attempt({}, { source: null, files: Int32Array.of(9999) })).toThrow("reading cached pixels");
    expect(() => augmentOnHost(block, new Float32Array(3), { size: 4 })).toThrow(UsageError);
  });
});
