import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inFolder } from "../../tests/support/run-folders.js";
import { readSwad } from "./swad.js";

/** A line of SWAD's trainer in its fast mode: `in` only of the test domain. */
function line(testPlace: number, step: number, value: number): string {
  const accuracies = [0, 1, 2, 3].map((i) => [`env${i}_out`, value + i / 100]);
  return `${JSON.stringify({
    args: {
      algorithm: "ERM",
      dataset: "PACS",
      test_envs: [[0], [2]],
      real_test_envs: [testPlace],
      trial_seed: 1,
      seed: 0,
    },
    ...Object.fromEntries(accuracies),
    [`env${testPlace}_in`]: value,
    test_in: value,
    train_in: 0,
    tr_outloss: 0.5,
    step,
  })}\n`;
}

const message = (text: string): string => `\u001b[36mINFO\u001b[0m 05/01 12:00:00 | ${text}\n`;

const headings = (place: number): string =>
  `test_in     test_out    train_in    train_out   tr_outloss  ${[0, 1, 2, 3]
    .flatMap((i) => (i === place ? [`env${i}_in`, `env${i}_out`] : [`env${i}_out`]))
    .map((key) => key.padEnd(10))
    .join("  ")}  step        epoch       loss        step_time   eval_time`;

/** The log of one test environment, with its averaged model's row. */
const logOf = (place: number, row: string): string =>
  message(`Test envs = [${place}], name = te_somewhere`) +
  message(headings(place)) +
  message("0.1  0.1  0.0  0.1  2.0  0.1  0.1  0.1  0.1  0.1  0  0.0  1.0  0.5  3.0") +
  "some line without a time\n" +
  message("Evaluate SWAD ...").replace("36mINFO", "33mWARNING") +
  message(row) +
  message("SWAD = 87.654%");

const row0 =
  "0.876543    0.870000    0.000000    0.960000    0.123456    0.876543    0.870000    0.950000    0.960000    0.970000    [100-500]  (N=7)";
const row2 =
  "0.900000    0.910000    0.000000    0.920000    0.123456    0.930000    0.940000    0.900000    0.910000    0.950000    [50-300]  (N=5)";

test("one file yields a run for each test environment, and the log the averaged model's", () => {
  inFolder((folder) => {
    const path = join(folder, "results.jsonl");
    writeFileSync(path, line(0, 0, 0.4) + line(0, 100, 0.5) + line(2, 0, 0.6));
    writeFileSync(join(folder, "log.txt"), logOf(0, row0) + logOf(2, row2));
    const { runs, notes } = readSwad(path);
    expect(notes).toEqual([]);
    expect(runs.map(({ method, testDomains, trialSeed }) => [method.model, ...testDomains, trialSeed])).toEqual([
      ["current", "art_painting", 1],
      ["current", "photo", 1],
      ["swad", "art_painting", 1],
      ["swad", "photo", 1],
    ]);
    expect(runs[0].evaluations.map(({ step }) => step)).toEqual([0, 100]);
    expect(Object.fromEntries(runs[0].evaluations[1].accuracy)).toEqual({
      art_painting: { in: 0.5, out: 0.5 },
      cartoon: { out: 0.51 },
      photo: { out: 0.52 },
      sketch: { out: 0.53 },
    });
    const [, , art, photo] = runs;
    expect(art.evaluations[0].step).toBe(500);
    expect(Object.fromEntries(art.evaluations[0].accuracy)).toEqual({
      art_painting: { in: 0.876543, out: 0.87 },
      cartoon: { out: 0.95 },
      photo: { out: 0.96 },
      sketch: { out: 0.97 },
    });
    expect(photo.evaluations[0].accuracy.get("photo")).toEqual({ in: 0.9, out: 0.91 });
  });
});

test("without a log there is only the trained model; an incomplete row is skipped and reported", () => {
  inFolder((folder) => {
    const path = join(folder, "results.jsonl");
    writeFileSync(path, line(0, 0, 0.4));
    expect(readSwad(path).runs).toHaveLength(1);
    writeFileSync(join(folder, "log.txt"), logOf(0, "0.876543  0.87  [100-500]  (N=7)"));
    const { runs, notes } = readSwad(path);
    expect(runs).toHaveLength(1);
    expect(notes[0]).toContain("the averaged model of test environment 0 was skipped");
  });
});
