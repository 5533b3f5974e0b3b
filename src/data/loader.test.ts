import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { makePictureFolder, pixelsOf } from "../../tests/support/made-pictures.js";
import { liveTensors, memory, resetPeakMemory } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { augmentOnHost, drawLength, plainDraw } from "./augment.js";
import type { ArrayDataset, Dataset, PictureDataset } from "./dataset.js";
import { generatedShapes } from "./datasets/generated-shapes.js";
import { DecodedPictures } from "./decoded-pictures.js";
import { type LoadedBatch, Loader, type LoaderOptions } from "./loader.js";
import { openPictures, type PictureStore } from "./picture-store.js";
import { splitDataset } from "./split.js";

const place = mkdtempSync(join(tmpdir(), "nudge-loader-"));
afterAll(() => rmSync(place, { recursive: true }));

/** Pictures of different sizes, in batches of 24 × 24. */
let dataset: PictureDataset;
const stores: Record<string, PictureStore> = {};
beforeAll(async () => {
  const made = await makePictureFolder(join(place, "root"), { perCell: 10, size: (n) => [30 + (n % 7), 41 - (n % 5)] });
  dataset = { ...made, inputShape: [3, 24, 24] };
  const cache = join(place, "cache");
  stores.memory = await openPictures(dataset, { cache });
  stores.file = await openPictures(dataset, { cache, memoryLimit: 1000 });
  stores.decode = await openPictures(dataset, { cache: false, memoryLimit: 0 });
  stores["decode, kept"] = await openPictures(dataset, { cache: false });
});
afterAll(() => {
  for (const store of Object.values(stores)) store[Symbol.dispose]();
});

const loaderOf = (given: Dataset, options: Partial<LoaderOptions> = {}): Loader =>
  new Loader({
    dataset: given,
    pictures: given.kind === "pictures" ? stores.memory : undefined,
    split: splitDataset(given.domains, { trialSeed: 0 }),
    seed: 3,
    trainDomains: given.domains.map(({ name }) => name),
    batchSize: 6,
    ...options,
  });

/** A batch's numbers, and the end of it. */
function contents(batch: LoadedBatch): { x: number[]; y: number[]; names: string[]; domains: LoadedBatch["domains"] } {
  const { x, y, domains } = batch;
  const read = { x: x.toNumbers(), y: y.toNumbers(), names: batch.names(), domains };
  batch[Symbol.dispose]();
  return read;
}

test("the stores are what the memory allows", () => {
  const kinds = Object.fromEntries(Object.entries(stores).map(([name, { kind }]) => [name, kind]));
  expect(kinds).toEqual({ memory: "memory", file: "file", decode: "decode", "decode, kept": "decode" });
});

test("a step's batch is the same bytes from memory, from the cache and decoded, in any order and after a restart", async () => {
  const first = loaderOf(dataset);
  const expected = [contents(await first.batch(0)), contents(await first.batch(1)), contents(await first.batch(2))];
  for (const [name, pictures] of Object.entries(stores)) {
    const loader = loaderOf(dataset, { pictures });
    for (const step of [2, 0, 1, 2])
      expect(contents(await loader.batch(step)), `${name}, ${step}`).toEqual(expected[step]);
  }
});

test("another step, another seed, another batch", async () => {
  const some = [
    await loaderOf(dataset).batch(0),
    await loaderOf(dataset).batch(1),
    await loaderOf(dataset, { seed: 4 }).batch(0),
  ];
  expect(new Set(some.map((batch) => contents(batch).x.join())).size).toBe(3);
});

test("rows are grouped by domain, with their classes and files", async () => {
  const { y, names, domains } = contents(await loaderOf(dataset).batch(5));
  expect(domains).toEqual([
    { name: "a", index: 0, start: 0, count: 6 },
    { name: "b", index: 1, start: 6, count: 6 },
  ]);
  expect(names.map((name) => name.slice(0, 2))).toEqual([...Array(6).fill("a/"), ...Array(6).fill("b/")]);
  expect(y).toEqual(names.map((name) => dataset.classes.indexOf(name.split("/")[1])));
});

test("a batch that does not fit into memory is refused before anything is allocated", () => {
  expect(() => loaderOf(dataset, { batchSize: 1e12 })).toThrow(
    /batchSize 1000000000000: a batch of \d × .* reduce batchSize/,
  );
});

test("training reads only the in part of the training domains", async () => {
  const split = splitDataset(dataset.domains, { trialSeed: 0 });
  const loader = loaderOf(dataset, { trainDomains: ["b"] });
  const seen = new Set<string>();
  for (let step = 0; step < 40; step++) for (const name of contents(await loader.batch(step)).names) seen.add(name);
  const inside = split.get("b")?.in.map((i) => dataset.domains[1].files[i]) ?? [];
  expect([...seen].sort()).toEqual([...inside].sort());
});

test("a domain's part of a batch does not depend on the other domains", async () => {
  const both = contents(await loaderOf(dataset).batch(4));
  const alone = contents(await loaderOf(dataset, { trainDomains: ["b"] }).batch(4));
  expect(alone.x).toEqual(both.x.slice(both.x.length / 2));
});

test("samples of one batch have draws of their own", async () => {
  const only = { in: [3], out: [], uda: [] };
  const loader = loaderOf(dataset, { split: new Map([["a", only]]), trainDomains: ["a"] });
  const { x } = contents(await loader.batch(0));
  const length = x.length / 6;
  expect(new Set(Array.from({ length: 6 }, (_, i) => x.slice(i * length, (i + 1) * length).join())).size).toBe(6);
});

test("without augmentation a row is its picture, resized and normalised", async () => {
  const batch = await loaderOf(dataset, { augmentation: null }).batch(0);
  const files = dataset.domains.flatMap((domain) => domain.files);
  scope(() => {
    for (const [row, name] of batch.names().entries()) {
      const number = files.indexOf(name);
      const [width, height] = [30 + (number % 7), 41 - (number % 5)];
      const draw = new Float32Array(drawLength);
      plainDraw(width, height, draw);
      const source = tensor(pixelsOf(number, width, height));
      const block = { source, offsets: Float64Array.of(0), sizes: Int32Array.of(width, height) };
      expectClose(batch.x.select(0, row), augmentOnHost(block, draw, { size: 24 }).select(0, 0), { atol: 0 });
    }
  });
  batch[Symbol.dispose]();
});

/** What an evaluation sees: the files, and whether they are as the plain pipeline has them. */
async function evaluated(loader: Loader, domain: string, part: "in" | "out", step = 0) {
  const plain = loaderOf(dataset, { augmentation: null });
  const [names, sizes]: [string[], number[]] = [[], []];
  let same = true;
  const others = plain.evaluate(domain, part, { batchSize: 7 });
  for await (const batch of loader.evaluate(domain, part, { batchSize: 7, step })) {
    const other = contents((await others.next()).value as LoadedBatch);
    const one = contents(batch);
    names.push(...one.names);
    sizes.push(one.y.length);
    same &&= one.x.join() === other.x.join();
  }
  return { names, sizes, plain: same };
}

test("an evaluation goes through a part in order, every sample once, the last batch smaller", async () => {
  const split = splitDataset(dataset.domains, { trialSeed: 0 });
  for (const [domain, part, sizes] of [
    ["a", "in", [7, 7, 2]],
    ["b", "out", [4]],
  ] as const) {
    const { names, sizes: got } = await evaluated(loaderOf(dataset), domain, part);
    const index = domain === "a" ? 0 : 1;
    expect(names).toEqual(split.get(domain)?.[part].map((i) => dataset.domains[index].files[i]));
    expect(got).toEqual(sizes);
  }
});

test("evaluation augments what the reference testbed augments, or SWAD", async () => {
  const rows = [
    // augmentValidation, domain, part, plain?
    [true, "a", "in", false],
    [true, "a", "out", false],
    [true, "b", "in", true],
    [true, "b", "out", true],
    [false, "a", "in", false],
    [false, "a", "out", true],
    [false, "b", "out", true],
  ] as const;
  for (const [augmentValidation, domain, part, plain] of rows) {
    const loader = loaderOf(dataset, { trainDomains: ["a"], augmentValidation });
    expect((await evaluated(loader, domain, part)).plain, `${augmentValidation} ${domain} ${part}`).toBe(plain);
  }
});

test("batches of several splits have the same rows as batches of each split, and only the last is smaller", async () => {
  const splits = [
    { domain: "a", part: "in" },
    { domain: "a", part: "out" },
    { domain: "b", part: "in" },
    { domain: "b", part: "out" },
  ] as const;
  const all = async (mixed: boolean) => {
    const rows = splits.map((): string[] => []);
    const [sizes, domains]: [number[], string[]] = [[], []];
    const loader = loaderOf(dataset, { trainDomains: ["a"] }); // b is not augmented
    for await (const batch of loader.evaluateSplits(splits, { step: 1, batchSize: 7, mixed })) {
      const { x, y, names, domains: own } = contents(batch);
      const width = x.length / y.length;
      const row = (i: number) => [names[i], y[i], ...x.slice(i * width, (i + 1) * width)].join();
      for (const { index, start, count } of batch.splits)
        rows[index].push(...Array.from({ length: count }, (_, i) => row(start + i)));
      sizes.push(y.length);
      domains.push(own.map(({ name, count }) => `${count} ${name}`).join());
    }
    return { rows, sizes, domains };
  };
  const [apart, mixed] = [await all(false), await all(true)];
  expect(apart.sizes).toEqual([7, 7, 2, 4, 7, 7, 2, 4]);
  expect(mixed.sizes).toEqual([7, 7, 7, 7, 7, 5]);
  expect(mixed.domains[2]).toBe("6 a,1 b");
  expect(mixed.rows.map(({ length }) => length)).toEqual([16, 4, 16, 4]);
  expect(mixed.rows).toEqual(apart.rows);
});

test("an evaluation's draws depend on the step and the sample, not on the size of its batches", async () => {
  const all = async (step: number, batchSize: number): Promise<string> => {
    const x: number[] = [];
    for await (const batch of loaderOf(dataset).evaluate("a", "out", { step, batchSize })) x.push(...contents(batch).x);
    return x.join();
  };
  const [one, two, later] = [await all(1, 4), await all(1, 3), await all(2, 4)];
  expect(one === two).toBe(true);
  expect(one === later).toBe(false);
});

test("the batch of a step can be requested twice at once, also if its pictures are decoded for it", async () => {
  const loader = loaderOf(dataset, { pictures: stores.decode });
  const [one, other] = (await Promise.all([loader.batch(3), loader.batch(3)])).map(contents);
  expect(one).toEqual(other);
  expect(one).toEqual(contents(await loaderOf(dataset).batch(3)));
});

test("at most the requested number of batches is prepared ahead", async () => {
  const asked: number[] = [];
  const counting: PictureStore = {
    ...stores.memory,
    kind: "memory",
    device: "cpu",
    find: (samples) => {
      asked.push(...samples.map(({ index }) => index));
      return stores.memory.find(samples);
    },
    expect() {},
    block: (pictures) => stores.memory.block(pictures),
    [Symbol.dispose]() {},
  };
  const loader = loaderOf(dataset, { pictures: counting, ahead: 3 });
  contents(await loader.batch(0));
  expect(asked).toHaveLength(4 * 12);
  contents(await loader.batch(1));
  expect(asked).toHaveLength(5 * 12);
  contents(await loader.batch(100)); // a jump: what was prepared is dropped
  expect(asked).toHaveLength(9 * 12);
  const last = loaderOf(dataset, { pictures: counting, ahead: 3, steps: 2 });
  contents(await last.batch(0));
  contents(await last.batch(1));
  expect(asked).toHaveLength(11 * 12);
});

test("pictures that cannot be read are skipped and counted, in every kind of storage, or are fatal", async () => {
  const root = join(place, "bad");
  const made = await makePictureFolder(root, { perCell: 5 });
  const broken: PictureDataset = { ...made, inputShape: [3, 24, 24] };
  const bad = broken.domains[0].files.filter((_, i) => i % 2 === 0);
  for (const [i, file] of bad.entries())
    writeFileSync(join(root, file), i % 2 ? "" : readFileSync(join(root, file)).subarray(0, 20));
  const every = new Map(
    broken.domains.map(({ name, count }) => [name, { in: upTo(count), out: upTo(count), uda: [] }]),
  );
  const outcomes = [];
  for (const cache of [join(place, "bad-cache"), false]) {
    using pictures = await openPictures(broken, { cache });
    const loader = loaderOf(broken, { pictures, split: every });
    const batches = [];
    for (let step = 0; step < 6; step++) batches.push(contents(await loader.batch(step)));
    expect(batches.flatMap(({ names }) => names).filter((name) => bad.includes(name))).toEqual([]);
    expect(batches.every(({ y }) => y.length === 12)).toBe(true);
    expect([...loader.skipped.keys()].sort()).toEqual([...bad].sort());
    for (const [file, problem] of loader.skipped) expect(problem).toContain(join(root, file));
    const left: string[] = [];
    for await (const batch of loader.evaluate("a", "out")) left.push(...contents(batch).names);
    expect(left).toEqual(broken.domains[0].files.filter((file) => !bad.includes(file)));
    outcomes.push(batches);
    expect(loader.problemIn("a", "out")).toMatch(/could not be decoded/);
  }
  expect(outcomes[0]).toEqual(outcomes[1]);
});

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test("a domain without a readable picture is an error", async () => {
  const root = join(place, "hopeless");
  const made = await makePictureFolder(root, { perCell: 2 });
  for (const file of made.domains[0].files) writeFileSync(join(root, file), "");
  using pictures = await openPictures(made, { cache: join(place, "hopeless-cache") });
  await expect(loaderOf(made, { pictures }).batch(0)).rejects.toThrow(
    /training domain "a": 100 pictures in a row cannot be read/,
  );
  for (const file of made.domains[1].files) writeFileSync(join(root, file), "");
  await expect(openPictures(made, { cache: join(place, "hopeless-cache") })).rejects.toThrow(
    "none of the 8 pictures can be decoded",
  );
});

test("generated pictures are augmented like others, at their own size", async () => {
  const shapes = await generatedShapes.open({ root: null, options: { size: 20, perCell: 3 } });
  const { x, y } = await loaderOf(shapes).batch(0);
  expect(x.shape).toEqual([24, 3, 20, 20]);
  expect(y.shape).toEqual([24]);
  const plain = await loaderOf(shapes, { augmentation: null }).batch(0);
  expect(plain.x.sub(x).abs().max().item()).toBeGreaterThan(0.1);
  for (const each of [x, y, plain.x, plain.y]) each.dispose();
});

test("arrays are not decoded: floats keep their order, bytes are divided by 255 with the channels first", async () => {
  const common = {
    id: "test",
    title: "test",
    kind: "arrays",
    root: null,
    hasDomains: true,
    augmentable: false,
    options: {},
    notes: [],
    classes: ["n", "p"],
  } as const;
  const domain = { name: "d", count: 5, labels: Int32Array.of(0, 1, 0, 1, 1) };
  const floats: ArrayDataset = {
    ...common,
    inputShape: [3],
    domains: [{ ...domain, read: (i) => Float32Array.of(i, -1, 0.5) }],
  };
  const bytes: ArrayDataset = {
    ...common,
    inputShape: [2, 1, 2],
    domains: [{ ...domain, read: (i) => Uint8Array.of(i, 255, 0, 51) }],
  };
  const split = new Map([["d", { in: [4, 0], out: [1], uda: [] }]]);
  const first = async (given: ArrayDataset) => {
    const batch = (await loaderOf(given, { split }).evaluate("d", "in").next()).value as LoadedBatch;
    const read = { x: batch.x.toArray(), y: batch.y.toNumbers() };
    batch[Symbol.dispose]();
    return read;
  };
  expect(await first(floats)).toEqual({
    x: [
      [4, -1, 0.5],
      [0, -1, 0.5],
    ],
    y: [1, 0],
  });
  const { x } = await first(bytes);
  expectClose(
    x,
    [
      [[[4 / 255, 0]], [[1, 0.2]]],
      [[[0, 0]], [[1, 0.2]]],
    ],
    { atol: 1e-7 },
  );
});

test("memory stays bounded on a dataset larger than the limit, and nothing is left behind", async () => {
  const made = await makePictureFolder(join(place, "large"), { perCell: 40, size: () => [200, 160] });
  const large: PictureDataset = { ...made, inputShape: [3, 32, 32] };
  const limit = 2e6; // the pictures take 15 MB
  const before = liveTensors();
  for (const cache of [join(place, "large-cache"), false]) {
    using pictures = await openPictures(large, { cache, memoryLimit: limit });
    expect(pictures.kind).toBe(cache === false ? "decode" : "file");
    const loader = loaderOf(large, { pictures, batchSize: 8, ahead: 2 });
    resetPeakMemory();
    const start = memory().used;
    for (let step = 0; step < 30; step++) (await loader.batch(step))[Symbol.dispose]();
    const batch = 16 * 200 * 160 * 3;
    const rows = 16 * 3 * 32 * 32 * 4;
    const prepared = cache === false ? 3 : 1; // decoded pictures wait in the engine's memory until their step
    expect(memory().peak - start).toBeLessThan(2 * rows + prepared * batch + 1e5);
    if (!(pictures instanceof DecodedPictures)) continue;
    expect(pictures.bytes).toBeLessThanOrEqual(limit);
    expect(pictures.bytes).toBeGreaterThan(limit * 0.9);
  }
  expect(liveTensors()).toBeLessThanOrEqual(before); // what other tests left may go meanwhile
});

test("options that contradict the dataset are refused with clear errors", () => {
  expect(() => loaderOf(dataset, { pictures: undefined })).toThrow("open them first, with openPictures(dataset)");
  expect(() => loaderOf(dataset, { trainDomains: ["c"] })).toThrow(UsageError);
  expect(() => loaderOf(dataset, { split: new Map() })).toThrow('the split has no domain "a"');
  expect(() => loaderOf({ ...dataset, inputShape: [3, 24, 30] })).toThrow("augmentation makes square pictures");
});
