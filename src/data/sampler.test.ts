import { expect, test } from "vitest";
import { DataError, UsageError } from "../errors.js";
import { createSampler, type SampledDomain } from "./sampler.js";

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);
const domain = (index: number, count: number): SampledDomain => ({
  name: `domain ${index}`,
  index,
  pictures: upTo(count),
});
const drawn = (batch: { pictures: Uint32Array }[]) => batch.map(({ pictures }) => [...pictures]);

test("a step's batch is the same whenever it is asked for, and by whichever sampler", () => {
  const options = { seed: 5, batchSize: 8, domains: [domain(0, 100), domain(2, 50)] };
  const forwards = createSampler(options);
  const batches = upTo(20).map((step) => drawn(forwards.batch(step)));
  const backwards = createSampler(options);
  for (const step of upTo(20).reverse()) expect(drawn(backwards.batch(step))).toEqual(batches[step]);
});

test("steps, domains and seeds have different draws", () => {
  const draws = [1, 2].flatMap((seed) => {
    const sampler = createSampler({ seed, batchSize: 8, domains: [domain(0, 1000), domain(1, 1000)] });
    return [0, 1, 2].flatMap((step) => drawn(sampler.batch(step)).map((pictures) => pictures.join()));
  });
  expect(new Set(draws).size).toBe(12);
});

test("a domain's draws do not depend on the other domains, and a larger batch begins with the smaller one", () => {
  const alone = createSampler({ seed: 1, batchSize: 4, domains: [domain(2, 70)] });
  const among = createSampler({ seed: 1, batchSize: 9, domains: [domain(0, 30), domain(2, 70)] });
  for (const step of upTo(10)) {
    const larger = among.batch(step)[1];
    expect([larger.domain, larger.index]).toEqual(["domain 2", 2]);
    expect([...larger.pictures.subarray(0, 4)]).toEqual(drawn(alone.batch(step))[0]);
  }
});

test("only the pictures given are drawn, each equally often", () => {
  const pictures = [3, 1, 4, 15, 9, 2, 6, 5];
  const sampler = createSampler({ seed: 0, batchSize: 100, domains: [{ name: "pi", index: 0, pictures }] });
  const counts = new Map(pictures.map((picture) => [picture, 0]));
  for (const step of upTo(400))
    for (const picture of sampler.batch(step)[0].pictures) counts.set(picture, (counts.get(picture) ?? Number.NaN) + 1);
  // 40,000 draws over 8: chi-squared with 7 degrees of freedom is above 24.3 once in a thousand seeds.
  const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - 5000) ** 2 / 5000, 0);
  expect(counts.size).toBe(8);
  expect(chiSquared).toBeLessThan(24.3);
});

test("balanced, a picture is drawn with weight 1/(pictures of its class · classes)", () => {
  const labels = [7, 0, 0, 0, 0, 0, 0, 2, 2, 7]; // class 1 is missing, and pictures 0 and 9 are not in the split
  const pictures = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const sampler = createSampler({
    seed: 0,
    batchSize: 90,
    domains: [{ name: "a", index: 0, pictures, labels }],
    classBalanced: true,
  });
  const counts = new Float64Array(10);
  for (const step of upTo(400)) for (const picture of sampler.batch(step)[0].pictures) counts[picture]++;
  expect(counts[0]).toBe(0);
  let chiSquared = 0;
  for (const picture of pictures) {
    const inClass = pictures.filter((other) => labels[other] === labels[picture]).length;
    const expected = 36_000 / (inClass * 3);
    chiSquared += (counts[picture] - expected) ** 2 / expected;
  }
  expect(chiSquared).toBeLessThan(26.1); // 8 degrees of freedom: once in a thousand seeds
});

test("with one class, balanced draws are the plain ones", () => {
  const options = { seed: 3, batchSize: 16, domains: [{ ...domain(0, 40), labels: upTo(40).map(() => 5) }] };
  const [plain, balanced] = [false, true].map((classBalanced) => createSampler({ ...options, classBalanced }));
  expect(drawn(balanced.batch(7))).toEqual(drawn(plain.batch(7)));
});

test("a domain smaller than a batch gives whole batches, and is noted", () => {
  const sampler = createSampler({ seed: 0, batchSize: 32, domains: [domain(0, 32), domain(1, 5), domain(2, 1)] });
  expect(drawn(sampler.batch(0)).map((pictures) => pictures.length)).toEqual([32, 32, 32]);
  expect(sampler.notes).toEqual([
    'training domain "domain 1" has 5 pictures for batches of 32: every batch repeats some',
    'training domain "domain 2" has 1 picture for batches of 32: every batch repeats some',
  ]);
});

test("a domain without pictures to draw from is refused before training starts", () => {
  const create = () => createSampler({ seed: 0, batchSize: 4, domains: [domain(0, 9), domain(1, 0)] });
  expect(create).toThrow(DataError);
  expect(create).toThrow('training domain "domain 1" has no pictures to draw from (its "in" split is empty)');
});

test.each([
  [{ batchSize: 0 }, "expected a batch size of at least 1, got 0"],
  [{ batchSize: 1.5 }, "expected a batch size of at least 1, got 1.5"],
  [{ domains: [] }, "expected at least one training domain, got none"],
  [{ domains: [domain(1, 4), domain(1, 4)] }, "has the place 1 of another, and would repeat its draws"],
  [{ classBalanced: true }, 'expected the labels of domain "domain 0", got none'],
  [
    { classBalanced: true, domains: [{ ...domain(0, 3), labels: [0, 1] }] },
    'picture 2 of domain "domain 0" has no label',
  ],
])("%o is refused with a clear error", (wrong, message) => {
  const create = () => createSampler({ seed: 0, batchSize: 4, domains: [domain(0, 9)], ...wrong });
  expect(create).toThrow(UsageError);
  expect(create).toThrow(message);
});

test.each([-1, 0.5, Number.NaN])("the step %s is refused", (step) => {
  const sampler = createSampler({ seed: 0, batchSize: 4, domains: [domain(0, 9)] });
  expect(() => sampler.batch(step)).toThrow(`expected a step of 0 or above, got ${step}`);
});
