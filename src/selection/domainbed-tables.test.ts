import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readResults } from "../report/read-results.js";
import { domainBedTables } from "./domainbed-tables.js";

/** Writes the same sweep as tests/vectors/domainbed_results.py, with the same formula. */
function writeSweep(folder: string): void {
  let draws = 0;
  const value = (): number => {
    draws++;
    return ((draws * draws * 7919 + draws * 104729) % 41) / 40;
  };
  const write = (
    dataset: string,
    environments: number,
    algorithm: string,
    test: number[],
    trial: number,
    hparams: number,
  ) => {
    const path = join(folder, `${dataset}-${algorithm}-${test.join("-")}-${trial}-${hparams}`);
    mkdirSync(path);
    const args = { algorithm, dataset, test_envs: test, trial_seed: trial, hparams_seed: hparams };
    const lines = [0, 300, 600].map((step) => {
      const accuracies = Array.from({ length: environments }, (_, i) => [
        [`env${i}_in_acc`, value()],
        [`env${i}_out_acc`, value()],
      ]).flat();
      const line = JSON.stringify({ step, args, ...Object.fromEntries(accuracies) });
      return `${line.slice(0, -1)}, "loss": NaN}\n`;
    });
    writeFileSync(join(path, "results.jsonl"), lines.join(""));
  };
  const singles = [[0], [1], [2], [3]];
  const pairs = [0, 1, 2, 3].flatMap((i) => [1, 2, 3].filter((j) => j > i).map((j) => [i, j]));
  for (let trial = 0; trial < 3; trial++) {
    for (let hparams = 0; hparams < 3; hparams++) {
      for (const test of [...singles, ...pairs]) write("PACS", 4, "ERM", test, trial, hparams);
      for (const test of singles) write("PACS", 4, "VREx", test, trial, hparams);
    }
  }
  for (let test = 0; test < 5; test++) write("RotatedMNIST", 6, "A_name_of_more_than_25_letters", [test], 0, 0);
  write("Unheard", 2, "ERM", [0], 0, 0);
}

test("a sweep in DomainBed's format gives the text of DomainBed's own collector, character for character", () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-tables-"));
  try {
    writeSweep(folder);
    const { runs, notes } = readResults([folder]);
    expect(notes).toEqual([]);
    const stored = new URL("../../tests/vectors/domainbed-results.txt", import.meta.url);
    expect(domainBedTables(runs)).toBe(readFileSync(stored, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("without runs there are only the empty averages", () => {
  const [first, , title] = domainBedTables([]).split("\n");
  expect(first).toBe("Total records: 0");
  expect(title).toBe("-------- Averages, model selection method: training-domain validation set");
});
