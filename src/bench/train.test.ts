import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { trainText } from "../cli/bench-train.js";
import { liveTensors } from "../engine/device.js";
import { benchTrain, type TrainBench } from "./train.js";

const quick = { algorithm: "ERM", backbone: "small-cnn", device: "cpu", precision: "float32", batch: 2, steps: 2 };

test("bench train times steps and an evaluation of limited size, and no files or tensors remain", async () => {
  const data = temporaryFolder();
  await makePictureFolder(data, { perCell: 6, domains: ["a", "b", "c"] });
  const caches = () => readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-train-bench-"));
  const before = { caches: caches(), tensors: liveTensors() };
  const options = { ...quick, data, limit: 8, algorithm: "ERM-NU", testDomain: "b", evaluationBatch: 5 };
  const result = await benchTrain(options);
  expect({ caches: caches(), tensors: liveTensors() }).toEqual(before);
  expect(result).toMatchObject({
    ...{ pictures: 24, batch: 4, steps: 2, testDomain: "b", method: "ERM + NU", weights: "random" },
    ours: { store: "memory", storeDevice: "cpu", replayed: false, notes: [] },
  });
  const { stepMs, waitMs, share, evaluationSeconds, evaluationRate } = result.ours;
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThan(stepMs);
  expect(share).toBeCloseTo(waitMs / stepMs, 12);
  expect(evaluationRate * evaluationSeconds).toBeCloseTo(24, 9);
  expect(result.ours.launchSeconds).toBeUndefined(); // on a CPU it would be the whole time
});

test("beside the peer other methods than ERM and ERM-NU are refused before anything is decoded", async () => {
  const data = temporaryFolder();
  await makePictureFolder(data, { perCell: 6, domains: ["a", "b", "c"] });
  await expect(benchTrain({ ...quick, data, algorithm: "SAM", peer: "python3" })).rejects.toThrow(
    "bench train --peer: the peer trains by ERM or ERM-NU, not SAM",
  );
  await expect(benchTrain({ ...quick, data: "shapes" })).rejects.toThrow("dataset shapes has no picture files");
});

test("the text contains times, ratios and the messages of the loop", () => {
  const result: TrainBench = {
    ...{ dataset: "PACS", pictures: 9991, testDomain: "art_painting", method: "ERM", backbone: "resnet50" },
    ...{ weights: "random", device: "cuda:0", threads: 16, precision: "bf16", batch: 96, steps: 100 },
    ours: {
      ...{ stepMs: 20, waitMs: 0.5, share: 0.025, evaluationSeconds: 2, evaluationRate: 4995.5 },
      ...{ store: "memory", storeDevice: "cuda:0", replayed: true, notes: ["note: one thing"] },
    },
    peer: {
      ...{ title: "PyTorch 2", workers: 8, stepMs: 70, evaluationSeconds: 20, stepRatio: 3.5, evaluationRatio: 10 },
    },
  };
  const text = trainText(result);
  expect(text).toMatch(/^ {2}nudge +20\.0 ms +3\.50×\n {2}DomainBed's loop, 8 workers per loader +70\.0 ms +1\.00×$/m);
  expect(text).toMatch(/^ {2}nudge +2\.00 s +10\.00×$/m);
  expect(text).toContain(
    "\n  the host prepares the next batch in 0.5 ms while the GPU computes: decoded pictures are in the memory of cuda:0; updates are replayed as a CUDA graph\n",
  );
  const { ours } = result;
  expect(trainText({ ...result, ours: { ...ours, updateMs: 19.6 } })).toContain(
    "\n  the update alone takes 19.6 ms, so data loading adds 0.4 ms; the host prepares the next batch in 0.5 ms",
  );
  expect(trainText({ ...result, ours: { ...ours, storeDevice: "cpu" } })).toContain(
    "\n  nudge waits 0.5 ms of its step for data (2.5 %): decoded pictures are in the memory of the machine",
  );
  expect(trainText({ ...result, ours: { ...ours, launchSeconds: 1.2 } })).toContain(
    "\n  nudge evaluates 4996 pictures per second; the host has launched all of it after 1.20 s\n",
  );
  expect(text.endsWith("\n  note: one thing")).toBe(true);
});
