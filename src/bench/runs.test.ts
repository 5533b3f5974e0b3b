import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { runsLines } from "../cli/bench-runs.js";
import { ownCommand } from "../cli/own-command.js";
import { readMnist } from "../data/datasets/mnist-files.js";
import { writeDigits } from "./made-digits.js";
import { benchRuns, type RunsBench } from "./runs.js";

const small = { ...{ data: "toy-2d", algorithm: "ERM", device: "cpu", digits: 70 }, steps: [3] };

test("bench runs reports each part when it is measured, and leaves nothing behind", { timeout: 60_000 }, async () => {
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-runs-bench-"));
  const before = folders();
  const parts: RunsBench[] = [];
  const onPart = (soFar: RunsBench): void => void parts.push(soFar);
  const options = { ...small, runs: 1, workers: [1], evaluationBatches: [32], onPart };
  const result = await benchRuns(options, ownCommand());
  expect(Object.keys(result.byBatch)).toEqual(["32"]);
  const [{ wall, training, processor, evaluations }] = result.single;
  expect(evaluations).toBe(2); // after the first step and the last
  expect(wall).toBeGreaterThan(training);
  expect(processor).toBeGreaterThan(0);
  expect(result.sweeps.map(({ runs, workers, steps }) => [runs, workers, steps])).toEqual([[1, 1, 3]]);
  expect(folders()).toEqual(before);
  // A part adds lines and leaves the others as they were.
  const texts = parts.map(runsLines);
  for (const [i, lines] of texts.slice(1).entries()) expect(lines.slice(0, texts[i].length)).toEqual(texts[i]);
  expect(texts.map((lines) => lines.length)).toEqual([4, 5, 6]);
  expect(texts.at(-1)!.at(-1)).toMatch(/^ {2}1 such runs by 1 process: \d+\.\d s, /);
});

test("bench runs refuses picture files, and reports a run that fails", { timeout: 60_000 }, async () => {
  const options = { ...small, runs: 0, workers: [1] };
  const data = temporaryFolder();
  await makePictureFolder(data, { perCell: 4, domains: ["a", "b"] });
  await expect(benchRuns({ ...options, data }, ownCommand())).rejects.toThrow(/picture files/);
  await expect(benchRuns(options, ["false"])).rejects.toThrow("bench runs: train --data toy-2d");
});

test("generated digits are files that MNIST's reader takes", () => {
  const root = temporaryFolder();
  writeDigits(root, 70);
  const { labels, height, width } = readMnist(root);
  expect([labels.length, height, width]).toEqual([70, 28, 28]);
  expect(new Set(labels).size).toBe(10);
});
