import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { parallelSweepText, sweepText } from "../cli/bench-sweep.js";
import { ownCommand } from "../cli/own-command.js";
import { benchParallelSweep, benchSweep } from "./sweep.js";

const small = {
  ...{ algorithm: "ERM", backbone: "toy-cnn", device: "cpu", precision: "float32", version: "test" },
  ...{ steps: 3, evaluateEvery: 2, batch: 2 },
};

test("bench sweep reports what runs take beside updates and evaluations, and leaves nothing behind", async () => {
  const data = temporaryFolder();
  await makePictureFolder(data, { perCell: 5, domains: ["a", "b", "c"] });
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-sweep-bench-"));
  const before = folders();
  const result = await benchSweep({ ...small, data, runs: 3 });
  expect(result.runs).toHaveLength(3);
  for (const { seconds, training, evaluations } of result.runs) {
    expect(seconds).toBeGreaterThan(training);
    expect(training).toBeGreaterThan(evaluations);
    expect(evaluations).toBeGreaterThan(0);
  }
  expect(result.lost.share).toBeGreaterThan(0);
  expect(result.lost.share).toBeLessThan(1);
  expect(sweepText(result)).toMatch(/everything else, mean of the other runs +\d+\.\d s$/);
  expect(folders()).toEqual(before);
});

test("bench sweep times a sweep of several processes", { timeout: 60_000 }, async () => {
  const data = temporaryFolder();
  await makePictureFolder(data, { perCell: 5, domains: ["a", "b", "c"] });
  const result = await benchParallelSweep({ ...small, data, runs: 2, workers: 2 }, ownCommand());
  expect(result.seconds).toBeGreaterThan(0.1);
  expect(parallelSweepText(result)).toMatch(
    /2 processes at a time.*\n.*s\n {2}divided by the number of runs +\d+\.\d s$/,
  );
  await expect(benchParallelSweep({ ...small, data, runs: 2, workers: 2 }, ["false"])).rejects.toThrow("failed");
});

test("a sweep of one run has no others to compare with", async () => {
  await expect(benchSweep({ ...small, data: "shapes", runs: 1 })).rejects.toThrow("at least 2 runs");
});
