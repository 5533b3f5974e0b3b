import { join } from "node:path";
import { expect, test } from "vitest";
import { accuraciesAt, inFolder, writeRun } from "../../tests/support/run-folders.js";
import type { Chosen } from "./chosen.js";
import { combinedText, combinedTexts } from "./combined-runs.js";
import { toCsv } from "./csv.js";
import { toJson } from "./json.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport } from "./report.js";

const IDS = ["a", "b", "c"].map((letter) => letter.repeat(16));

/**
 * Three draws in two trials, an ensemble of all of them, and a soup that took the last two. The ensemble is the best in
 * trial 0, and draw 1 in trial 1.
 */
function write(folder: string): void {
  for (const trialSeed of [0, 1]) {
    const ids = IDS.map((id) => `${trialSeed}${id.slice(1)}`);
    const run = (id: string): string => join(folder, `${id}-pacs-sketch-erm-trial${trialSeed}`);
    ids.forEach((id, draw) => {
      const settings = { trialSeed, hparamsSeed: draw, hparams: { lr: [0.1, 0.2, 0.3][draw] } };
      writeRun(run(id), { settings, records: accuraciesAt(0, draw === 1 ? 0.6 : 0.5) });
    });
    for (const [kind, taken, accuracy] of [
      ["ensemble", ids, trialSeed === 0 ? 0.7 : 0.55],
      ["soup", ids.slice(1), 0.52],
    ] as const)
      writeRun(run(`${kind[0]}${trialSeed}${"f".repeat(14)}`), {
        settings: { trialSeed, hparams: { lr: 0.1 }, combination: { kind, members: ids, taken: { [kind]: taken } } },
        records: accuraciesAt(0, accuracy, { model: kind }),
      });
  }
}

const report = inFolder((folder) => {
  write(folder);
  const made = makeReport(readResults([folder]), { chosen: true, choose: true });
  return { text: toMarkdown(made), json: toJson(made), csv: toCsv(made) };
});

test("soups and ensembles name the runs that they combine and have no hyperparameters of one of them", () => {
  const { chosen } = JSON.parse(report.json) as { chosen: Chosen[] };
  const cell = (title: string, trial: number) => chosen.find((each) => each.title === title && each.trial === trial)!;
  expect(cell("Soup", 1)).toMatchObject({ draw: null, hparams: {} });
  expect(cell("Soup", 1).combines).toMatchObject({ kind: "soup", of: 3, draws: [1, 2], seeds: [0] });
  expect(cell("Soup", 1).combines?.runs).toHaveLength(2);
  expect(cell("ERM", 1)).toMatchObject({ draw: 1, hparams: { lr: 0.2 } });
  const lines = report.text.split("\n").map((line) => line.replaceAll(/ +/g, " "));
  const of = (start: string): string[] => lines.filter((line) => line.startsWith(start));
  expect(of("| Ensemble | sketch | 0 ")[0]).toContain("| – | combines 3 runs (draws 0, 1, 2) |");
  expect(of("| Soup | sketch | 0 ")[0]).toContain("| – | combines 2 of 3 runs (draws 1, 2) |");
  // In the table of best hyperparameters, which has no column of runs.
  expect(of("| Ensemble |").filter((line) => line.endsWith("| combines 3 runs (draws 0, 1, 2) |"))).toHaveLength(1);
  expect(report.text).toContain("Soups and ensembles have no hyperparameters of their own");
  expect(report.csv).toMatch(/,Soup,trial,S,.*combines 2 of 3 runs \(draws 1, 2\)/);
});

test("the row of --choose has the draw and hyperparameters of the chosen run, or what it combines", () => {
  const lines = report.text.split("\n").map((line) => line.replaceAll(/ +/g, " "));
  const [, first, second, ...more] = lines.filter((line) => line.startsWith("| Chosen by validation |"));
  expect(first).toMatch(
    /^\| Chosen by validation \| sketch \| 0 .*\| – \| Ensemble: combines 3 runs \(draws 0, 1, 2\) \|/,
  );
  expect(second).toMatch(/^\| Chosen by validation \| sketch \| 1 .*\| 1 \| ERM: lr=0\.2 \|/);
  expect(more).toEqual([]); // it is not in the table of best hyperparameters, because it has none of its own
});

test("the header counts trained runs, and combinations apart from them", () => {
  expect(report.text).toContain(
    "\n6 runs and 4 combinations of them (2 ensembles, 2 soups): 3 draws of hyperparameters.",
  );
});

test("seeds are named where they differ, and domains that combine other runs are summed up", () => {
  const made = { kind: "soup", of: 3 };
  const three = { ...made, runs: IDS, draws: [0], seeds: [0, 1000, 2000] };
  expect(combinedText(three)).toBe("combines 3 runs (seeds 0, 1000, 2000)");
  expect(combinedText({ ...three, draws: [], seeds: [] })).toBe("combines 3 runs"); // runs that are not among the results
  const one = { ...made, runs: IDS.slice(1, 2), draws: [1], seeds: [0] };
  expect(combinedText(one)).toBe("combines 1 of 3 runs (draw 1)");
  expect(combinedTexts([one, one])).toBe("combines 1 of 3 runs (draw 1)");
  expect(combinedTexts([three, one])).toBe("combines 1 to 3 of 3 runs; which ones depends on the held-out domain");
});
