import { expect, test } from "vitest";
import { liveTensors } from "../engine/device.js";
import { conv2d } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import type { ArrayDataset } from "./dataset.js";
import { Loader } from "./loader.js";
import { ResidentArrays, useTables } from "./resident-arrays.js";
import type { Split } from "./split.js";

const SHAPE = [2, 2, 3] as const; // channels, height, width

/** Two domains of three samples. */
function datasetOf(read: (domain: number, i: number) => Uint8Array | Float32Array): ArrayDataset {
  const domains = [0, 1].map((domain) => ({
    ...{ name: `d${domain}`, count: 3, labels: Int32Array.of(domain, 2, 3) },
    read: (i: number) => read(domain, i),
  }));
  return {
    ...{ id: "test", title: "test", kind: "arrays", root: null, hasDomains: true, augmentable: false },
    ...{ inputShape: SHAPE, options: {}, notes: [], classes: ["a", "b", "c", "d"], domains },
  };
}

const all: Split = new Map([0, 1].map((d) => [`d${d}`, { in: [0, 2], out: [1], uda: [] }]));
/** A byte names its domain, sample, pixel and channel. */
const byteAt = (domain: number, i: number, pixel: number, channel: number): number =>
  100 * domain + 30 * i + 2 * pixel + channel;
const grey = Uint8Array.from({ length: 28 * 28 }, (_, i) => (i * 37) % 256);
const bytes = (domain: number, i: number): Uint8Array =>
  Uint8Array.from({ length: 12 }, (_, at) => byteAt(domain, i, Math.floor(at / 2), at % 2));

test("bytes with interleaved channels are gathered with the channels first, in either memory format", () => {
  const arrays = ResidentArrays.of(datasetOf(bytes), "cpu", all)!;
  expect([arrays.rowOf({ domain: 1, index: 2 }), arrays.labelAt(3), arrays.nameAt(5)]).toEqual([5, 1, "d1/2"]);
  scope(() => {
    const rows = tensor(Int32Array.of(5, 0));
    const [first, last] = [arrays.gather(rows), arrays.gather(rows, true)];
    expect(first.x.shape).toEqual([2, ...SHAPE]);
    const expected = [
      [1, 2],
      [0, 0],
    ].flatMap(([domain, i]) =>
      [0, 1].flatMap((channel) =>
        Array.from({ length: 6 }, (_, pixel) => Math.fround(byteAt(domain, i, pixel, channel) / 255)),
      ),
    );
    expect(first.x.toNumbers()).toEqual(expected);
    expect(last.x.equal(first.x)).toBe(true);
    expect([first.x.isChannelsLast, last.x.isChannelsLast]).toEqual([false, true]);
    expect(first.y.toNumbers()).toEqual([3, 0]);
  });
});

test("a picture of one channel is convolved with the same kernels as one from the host", () => {
  const plain: ArrayDataset = { ...datasetOf(() => grey), inputShape: [1, 28, 28] };
  const arrays = ResidentArrays.of(plain, "cpu", all)!;
  scope(() => {
    const weight = tensor(
      Float32Array.from({ length: 64 * 9 }, (_, i) => Math.sin(i)),
      { shape: [64, 1, 3, 3] },
    );
    const x = tensor(
      Float32Array.from(grey, (each) => each / 255),
      { shape: [1, 1, 28, 28] },
    );
    const convolved = (input: Tensor): Tensor => conv2d(input, weight, null, [1, 1], [1, 1], [1, 1], 1);
    const got = convolved(arrays.gather(tensor(Int32Array.of(0))).x);
    expect([got.isChannelsLast, got.equal(convolved(x))]).toEqual([false, true]);
  });
});

test("floats are gathered as they are", () => {
  const floats = (domain: number, i: number): Float32Array => Float32Array.from(bytes(domain, i), (each) => -each / 7);
  const arrays = ResidentArrays.of(datasetOf(floats), "cpu", all)!;
  scope(() => expect(arrays.gather(tensor(Int32Array.of(4))).x.toNumbers()).toEqual([...floats(1, 1)]));
});

test("vectors have no channels to put last", () => {
  const vectors = { ...datasetOf((domain, i) => Float32Array.of(domain, i)), inputShape: [2] };
  const arrays = ResidentArrays.of(vectors, "cpu", all)!;
  scope(() => expect(arrays.gather(tensor(Int32Array.of(4)), true).x.toArray()).toEqual([[1, 1]]));
});

test("a table is shared, and gets the samples of further splits", () => {
  const seen: string[] = [];
  const dataset = datasetOf((domain, i) => {
    seen.push(`${domain}/${i}`);
    return bytes(domain, i);
  });
  const some: Split = new Map([["d0", { in: [1], out: [], uda: [] }]]);
  const table = ResidentArrays.of(dataset, "cpu", some);
  expect(ResidentArrays.of(dataset, "cpu", some)).toBe(table);
  expect(seen).toEqual(["0/1"]);
  const more = ResidentArrays.of(dataset, "cpu", all);
  expect(more).not.toBe(table);
  expect(ResidentArrays.of(dataset, "cpu", some)).toBe(more);
});

test("datasets that mix bytes and floats, or are augmented, have no table", () => {
  const mixed = datasetOf((domain, i) => (i === 1 ? new Float32Array(12) : bytes(domain, i)));
  expect(ResidentArrays.of(mixed, "cpu", all)).toBeNull();
  expect(ResidentArrays.of({ ...datasetOf(bytes), augmentable: true }, "cpu", all)).toBeNull();
});

test("the last loader of a dataset frees its tables, and its lists of rows", async () => {
  const before = liveTensors();
  const dataset = datasetOf(bytes);
  const open = (split: Split): Loader =>
    new Loader({ dataset, split, seed: 0, trainDomains: ["d0"], batchSize: 1, evaluationBatch: 2 });
  const use = async (loader: Loader): Promise<void> => {
    for await (const batch of loader.evaluate("d0", "in")) batch[Symbol.dispose]();
    using _ = await loader.batch(0);
  };
  {
    using first = open(new Map([["d0", { in: [0], out: [], uda: [] }]]));
    await use(first);
    const alone = liveTensors();
    {
      using second = open(all); // makes a larger table
      await use(second);
      expect(liveTensors()).toBeGreaterThan(alone);
    }
    await use(first); // its table is still there
  }
  expect(liveTensors()).toBe(before);
  const kept = useTables(dataset);
  const tableOf = () => ResidentArrays.of(dataset, "cpu", all);
  const table = tableOf();
  {
    using loader = open(all);
    await use(loader);
  }
  expect(tableOf()).toBe(table);
  kept[Symbol.dispose]();
  expect(liveTensors()).toBe(before);
});
