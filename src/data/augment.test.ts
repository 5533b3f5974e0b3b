import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { EngineError, UsageError } from "../errors.js";
import { augmentOnHost, domainBedAugmentation, drawAugmentation, drawField, drawLength, plainDraw } from "./augment.js";
import { augmentOnDevice } from "./augment-device.js";

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
    const inParts = (...lengths: number[]) => ({
      source: null,
      parts: lengths.map((length) => new Uint8Array(length)),
    });
    expect(attempt({}, inParts(300))().shape).toEqual([1, 3, 4, 4]);
    expect(attempt({}, inParts(299))).toThrow("outside the picture");
    expect(attempt({}, { ...inParts(300), offsets: Float64Array.of(1) })).toThrow("outside the picture");
    expect(attempt({}, inParts())).toThrow("got 0 pictures, expected 1");
    expect(attempt({}, inParts(300, 300))).toThrow("got 2 pictures, expected 1");
    expect(attempt({}, { source: null, parts: [7] })).toThrow(EngineError);
    expect(() => augmentOnHost(block, new Float32Array(3), { size: 4 })).toThrow(UsageError);
  });
});

test("pictures in parts give the same batch as pictures in one block", () => {
  scope(() => {
    const shapes = [[9, 7], [12, 5], [8, 8]] as const; // biome-ignore format: a list
    const parts = shapes.map(([w, h], i) =>
      Uint8Array.from({ length: w * h * 3 }, (_, at) => (at * 37 + i * 11) % 256),
    );
    const sizes = Int32Array.from(shapes.flat());
    const draws = new Float32Array(3 * drawLength);
    for (const [i, [w, h]] of shapes.entries())
      drawAugmentation(keyedRandom(0, "augment", 1, 0, i), w, h, draws.subarray(i * drawLength, (i + 1) * drawLength));
    const offsets = Float64Array.of(0, 9 * 7 * 3, 9 * 7 * 3 + 12 * 5 * 3);
    const whole = augmentOnHost({ source: tensor(Buffer.concat(parts)), offsets, sizes }, draws, { size: 6 });
    const split = augmentOnHost({ source: null, parts, offsets: new Float64Array(3), sizes }, draws, { size: 6 });
    expect(Buffer.compare(whole.bytes(), split.bytes())).toBe(0);
  });
});

/** PIL's shift of a colour's hue, in its mixture of single and double precision. */
function shiftedByPil([r, g, b]: readonly number[], added: number): number[] {
  const f32 = Math.fround;
  const high = Math.max(r, g, b);
  const range = high - Math.min(r, g, b);
  if (range === 0) return [r, g, b];
  const [rc, gc, bc] = [r, g, b].map((value) => f32((high - value) / range));
  const turn = f32(r === high ? bc - gc : g === high ? 2 + rc - bc : 4 + gc - rc);
  const circle = turn / 6 + 1;
  const hue = Math.trunc(f32(circle - Math.trunc(circle)) * 255);
  const s = f32(Math.trunc(f32(range / high) * 255) / 255);
  const place = (((hue + added) & 255) * 6) / 255;
  const sector = Math.trunc(place);
  const f = f32(place - sector);
  const [p, q, t] = [s, f32(s * f), s * (1 - f)].map((share) => Math.trunc(high * (1 - share) + 0.5));
  return [[high, t, p], [q, high, p], [p, high, t], [p, q, high], [t, p, high], [high, p, q]][sector % 6]; // biome-ignore format: a table
}

test.each([0.3, -0.3, 0.1234])("a hue shift of %d has PIL's bytes for colours of the whole cube", (hue) => {
  const size = 512; // 64³ colours
  const pixels = new Uint8Array(size * size * 3);
  const expected = new Uint8Array(pixels.length);
  for (let i = 0; i < size * size; i++) {
    const colour = [(i >> 12) * 4 + (i % 4), ((i >> 6) % 64) * 4 + ((i >> 3) % 4), (i % 64) * 4 + ((i >> 7) % 4)];
    pixels.set(colour, 3 * i);
    expected.set(shiftedByPil(colour, Math.trunc(Math.fround(Math.fround(hue) * 255))), 3 * i);
  }
  const draw = new Float32Array(drawLength);
  plainDraw(size, size, draw);
  draw[drawField.hue] = hue;
  const block = { source: null, parts: [pixels], offsets: Float64Array.of(0), sizes: Int32Array.of(size, size) };
  const options = { size, channelsLast: true, mean: new Float32Array(3), std: new Float32Array(3).fill(1) };
  const bytes = scope(() => Float32Array.from(augmentOnHost(block, draw, options).permute([0, 2, 3, 1]).toNumbers()));
  expect(bytes.reduce((wrong, value, i) => wrong + Number(Math.round(value * 255) !== expected[i]), 0)).toBe(0);
});

test("pictures that do not fit together are processed in parts, with the same result", () => {
  const sizes = Int32Array.of(4200, 3, 3, 4200, 4200, 2, 30, 40); // the first two need 2 · 4200 · 4200 pixels together
  const lengths = [0, 1, 2, 3].map((i) => sizes[2 * i] * sizes[2 * i + 1] * 3);
  const offsets = Float64Array.from(lengths, (_, i) => lengths.slice(0, i).reduce((sum, length) => sum + length, 0));
  const bytes = Uint8Array.from({ length: lengths.reduce((sum, length) => sum + length, 0) }, (_, i) => (i * i) % 251);
  const draws = new Float32Array(4 * drawLength);
  for (let i = 0; i < 4; i++)
    plainDraw(sizes[2 * i], sizes[2 * i + 1], draws.subarray(i * drawLength, (i + 1) * drawLength));
  scope(() => {
    const block = { source: tensor(bytes), offsets, sizes };
    const onHost = augmentOnHost(block, draws, { size: 8 });
    expectClose(augmentOnDevice(block, draws, { size: 8 }), onHost, { atol: 1e-6 });
  });
});
