/**
 * Checks updates whose batches are gathered on the device (data/resident-batches.ts), several for each turn of the host:
 * they must be those with the same batches one after the other.
 */

import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import type { ArrayDataset } from "../data/dataset.js";
import { Loader } from "../data/loader.js";
import { splitDataset } from "../data/split.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { DeviceUpdates, type Reading } from "./device-updates.js";
import { CLASSES, DOMAINS, learnerOf, SMALL } from "./self-test-setup.js";

const COUNT = 20;

/** Small pictures as bytes. */
export function arraysForTest(): ArrayDataset {
  const random = keyedRandom(0, "self-test", "arrays");
  const { size } = SMALL;
  const samples = Array.from({ length: DOMAINS * COUNT }, () =>
    Uint8Array.from({ length: 3 * size * size }, () => random.integer(256)),
  );
  return {
    ...{ id: "self-test", title: "self-test", kind: "arrays", root: null, hasDomains: true, augmentable: false },
    ...{
      inputShape: [3, size, size],
      options: {},
      notes: [],
      classes: Array.from({ length: CLASSES }, (_, i) => `${i}`),
    },
    domains: Array.from({ length: DOMAINS }, (_, domain) => ({
      name: `d${domain}`,
      count: COUNT,
      labels: Int32Array.from({ length: COUNT }, (_, i) => (i + domain) % CLASSES),
      read: (i: number) => samples[domain * COUNT + i],
    })),
  };
}

export interface TrainedOnArrays {
  readonly weights: readonly (readonly number[])[];
  readonly reading: Reading;
  readonly isReplaying: boolean;
}

/** Trains in blocks of 7 steps: with the updates of a block together, or one after the other. */
export function trainOnArrays(algorithm: AlgorithmDefinition, device: string, together: boolean): TrainedOnArrays {
  const dataset = arraysForTest();
  using loader = new Loader({
    ...{ dataset, device, seed: 5, batchSize: SMALL.rows, split: splitDataset(dataset.domains, { trialSeed: 0 }) },
    trainDomains: dataset.domains.map(({ name }) => name),
  });
  const batches = loader.resident!;
  using learner = learnerOf(SMALL, algorithm, device);
  using updates = new DeviceUpdates(learner, { device });
  for (let step = 0; step < 35; step += 7) {
    if (together) updates.updateMany(batches, step, 7);
    else
      for (let each = step; each < step + 7; each++) {
        using batch = batches.batch(each);
        scope(() => {
          const { x, y, labels } = batch;
          const domains = batch.domains.map(({ start, count }) => ({
            x: x.narrow(0, start, count),
            y: y.narrow(0, start, count),
          }));
          updates.update({ domains, x, y, labels }, each);
        });
      }
  }
  const reading = updates.read();
  const weights = [...learner.parameters().values()].map((each) => scope(() => each.detach().toNumbers()));
  return { weights, reading, isReplaying: updates.isReplaying };
}
