import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { arrays, CLASSES, DOMAINS, tinyBackbone, tinyBatch } from "../../tests/support/tiny-data.js";
import { erm } from "../algorithms/erm.js";
import { type Follower, swad } from "../averaging/index.js";
import { keep, scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { type Checkpointed, readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { Learner } from "./learner.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-checkpoint-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const begin = (start: number, channelsLast: boolean): Learner =>
  new Learner({
    ...{ algorithm: erm, makeBackbone: () => tinyBackbone(arrays, start), classes: CLASSES, domains: DOMAINS },
    channelsLast,
  });

/** Returns the values and strides, by name, of all tensors that persist between updates. */
function lying({ learner, followers }: Checkpointed): Record<string, { values: number[]; strides: readonly number[] }> {
  const kept = [learner.state(), ...followers.map((follower) => follower.state())];
  const entries = kept.flatMap(({ tensors }) =>
    Array.from(tensors, ([name, tensor]) => [name, { values: tensor.toNumbers(), strides: tensor.strides }] as const),
  );
  return Object.fromEntries(entries);
}

test.each([false, true])("what is read back lies in memory as it did before (channels last: %s)", (channelsLast) => {
  const path = join(folder, `${channelsLast}.safetensors`);
  const progress = {
    next: 2,
    updated: true as const,
    stopped: false,
    logs: { sums: {}, count: 0 },
    records: 7,
    best: null,
  };
  using learner = begin(0, channelsLast);
  using average: Follower = swad();
  for (const step of [0, 1]) {
    scope(() => learner.update(tinyBatch(arrays, step), step));
    average.afterUpdate(step, learner.parameters());
  }
  writeCheckpoint(path, "a run", progress, { learner, followers: [average] });
  using other = begin(1, channelsLast);
  using otherAverage: Follower = swad();
  const read = readCheckpoint(path, "a run", { learner: other, followers: [otherAverage] });
  expect(JSON.stringify(read)).toBe(JSON.stringify(progress)); // the order of keys matters too: a run that was stopped ends in the same bytes
  const before = lying({ learner, followers: [average] });
  expect(before["segment.backbone.stage1.weight"].strides).toEqual(channelsLast ? [36, 1, 12, 4] : [36, 9, 3, 1]);
  expect(lying({ learner: other, followers: [otherAverage] })).toEqual(before);
});

test("averages are read onto another device than the file's, and refused if their shapes differ", () => {
  const path = join(folder, "device.safetensors");
  const progress = { next: 1, stopped: false, logs: { sums: {}, count: 0 }, best: null };
  using learner = begin(0, false);
  using average: Follower = swad();
  scope(() => learner.update(tinyBatch(arrays, 0), 0));
  average.afterUpdate(0, learner.parameters());
  writeCheckpoint(path, "a run", progress, { learner, followers: [average] });
  // "meta" is a device of libtorch without memory, which every machine has.
  const elsewhere = { ...begin(1, false), place: { device: "meta" } } as unknown as Learner;
  const parameters = scope(
    () =>
      new Map(Array.from(learner.parameters(), ([name, each]) => [name, keep(each.detach().to({ device: "meta" }))])),
  );
  Object.assign(elsewhere, { loadState: () => {}, parameters: () => parameters });
  using other: Follower = swad();
  readCheckpoint(path, "a run", { learner: elsewhere, followers: [other] });
  expect([...other.state().tensors.values()].map(({ device }) => device)).toContain("meta");
  const [first] = parameters.keys();
  parameters.set(first, tensor([1, 2, 3]));
  expect(() => readCheckpoint(path, "a run", { learner: elsewhere, followers: [other] })).toThrow(
    /device\.safetensors: ".*" is float32\[.*\], but its parameter is float32\[3\]/,
  );
});
