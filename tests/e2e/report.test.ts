/** `nudge report` as a reader calls it: a golden report, every format, and folders that are not what they should be. */

import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { readResults } from "../../src/report/read-results.js";
import { failAttempt } from "../../src/sweep/attempts.js";
import { writeManyRuns } from "../support/many-runs.js";
import { temporaryFolder } from "../support/picture-folder.js";
import { catchPrinted } from "../support/printed.js";
import { nuclearNormOn, pacsDomains, vlcsDomains, writeMadeRun, writePacsSweep } from "../support/report-runs.js";
import { accuraciesAt, writeRun } from "../support/run-folders.js";

const printed = catchPrinted();

/** PACS whole; on VLCS ERM with SWAD whole, and ERM-NU with a run and a domain missing. */
function twoDatasets(): string {
  const folder = join(temporaryFolder(), "runs");
  writePacsSweep(folder);
  const averaging = [{ id: "swad", settings: {} }];
  for (const trial of [0, 1])
    for (const [d, heldOut] of vlcsDomains.entries()) {
      const made = { dataset: "vlcs", domains: vlcsDomains, heldOut, trial };
      writeMadeRun(folder, { ...made, accuracy: 0.7 + d / 50, averaging });
      if (d === 2 || (d === 1 && trial === 1)) continue;
      writeMadeRun(folder, { ...made, accuracy: 0.71 - d / 50 + trial / 100, regularizers: nuclearNormOn });
    }
  return folder;
}

test("the report of two datasets equals the golden file", async () => {
  expect(await main(["report", twoDatasets(), "--published", "--claims"])).toBe(0);
  expect(printed.stderr).toBe("");
  expect(printed.stdout).toBe(readFileSync(new URL("report-golden.md", import.meta.url), "utf8"));
});

test("--out writes every format and the figures; with --format only one", async () => {
  const runs = twoDatasets();
  const out = temporaryFolder();
  expect(await main(["report", runs, "--out", join(out, "all")])).toBe(0);
  const names = ["figures", "report.csv", "report.html", "report.json", "report.md", "report.tex", "results.txt"];
  expect(readdirSync(join(out, "all")).sort()).toEqual(names);
  const curves = [...pacsDomains.map((name) => `pacs-${name}`), ...vlcsDomains.map((name) => `vlcs-${name}`)];
  const figures = ["improvement", "improvement-erm-nu-over-erm", ...curves.map((name) => `curves-${name}`)];
  const files = figures.flatMap((name) =>
    ["png", "svg"].map((kind) => `${name.toLowerCase().replace("_", "-")}.${kind}`),
  );
  expect(readdirSync(join(out, "all", "figures")).sort()).toEqual(files.sort());
  expect(printed.stdout).toContain(`wrote ${join(out, "all", "report.html")}\n`);
  expect(await main(["report", runs, "--out", join(out, "one"), "--format", "csv"])).toBe(0);
  expect(readdirSync(join(out, "one"))).toEqual(["report.csv"]);
  expect(await main(["report", runs, "--out", join(out, "drawn"), "--format", "figures"])).toBe(0);
  expect(readdirSync(join(out, "drawn"))).toEqual(["figures"]);
});

test("runs that are written in DomainBed's format are read back into the same cells", async () => {
  const runs = twoDatasets();
  const out = temporaryFolder();
  expect(await main(["report", runs, "--out", out, "--format", "domainbed"])).toBe(0);
  const means = async (folder: string): Promise<(number | null)[][][]> => {
    printed.stdout = "";
    expect(await main(["report", folder, "--format", "json"])).toBe(0);
    const { tables } = JSON.parse(printed.stdout) as {
      tables: { rows: { cells: { mean: number | null }[] }[] }[];
    };
    const byRow = ({ rows }: (typeof tables)[number]): (number | null)[][] =>
      rows.map(({ cells }) => cells.map(({ mean }) => mean)).sort();
    return tables.map(byRow);
  };
  expect(await means(join(out, "domainbed"))).toEqual(await means(runs));
  expect(readFileSync(join(out, "results.txt"), "utf8")).toMatch(/^Total records: \d+\n/);
});

test("runs are not written in DomainBed's format into the folder they were read from", async () => {
  const runs = twoDatasets();
  expect(await main(["report", runs, "--out", join(runs, "report"), "--format", "domainbed"])).toBe(2);
  expect(printed.stderr).toContain("would count them as additional runs. Choose another --out");
  expect(existsSync(join(runs, "report", "domainbed"))).toBe(false);
});

test("a report next to the runs it reads is not read as a run", async () => {
  const runs = twoDatasets();
  const before = readResults([runs]).runs.length;
  expect(await main(["report", runs, "--out", join(runs, "report")])).toBe(0);
  expect(readResults([runs]).runs).toHaveLength(before);
});

test.each([
  [["--selection", "training"], 'unknown selection method "training"'],
  [["--format", "markdown"], 'unknown format "markdown"'],
  [["--format", "figures"], "--format figures: figures are files; choose a folder with --out"],
  [["--compare", "ERM"], "--compare: expected two methods with a comma between them, such as ERM-NU,ERM"],
  [["--compare", "ERM,Mixup"], 'unknown method among these runs "Mixup"'],
  [["--compare", "ERM-NU,ERM", "--against", "ERM"], "--compare and --against: use only one of them"],
  [["--equivalence", "0"], '--equivalence: expected a number above 0 to 100, got "0"'],
  [["--curves", "ERM,EMR-NU"], 'unknown method among these runs "EMR-NU": did you mean "ERM-NU"?'],
  [["--only", "weigths"], 'unknown part of a report "weigths": did you mean "weights"?'],
])("wrong options are reported: %j", async (options, words) => {
  expect(await main(["report", twoDatasets(), ...options])).toBe(2);
  expect(printed.stderr).toContain(words);
  expect(printed.stdout).toBe("");
});

test("--only prints the requested parts with their descriptions; if there are none, it is an error", async () => {
  const runs = twoDatasets();
  expect(await main(["report", runs, "--only", "pairs"])).toBe(0);
  expect(printed.stdout).toMatch(/^Selection: training-domain validation set/);
  expect(printed.stdout).toContain("\n## ERM-NU against ERM, pair by pair\n");
  expect(printed.stdout).not.toContain("## PACS");
  expect(await main(["report", runs, "--only", "weights"])).toBe(1);
  expect(printed.stderr).toContain("has no runs for this part: weights needs one penalty with two or more weights");
});

test("--equivalence adds the tests for the compared methods; --only influence reports that it needs a search", async () => {
  const runs = twoDatasets();
  expect(await main(["report", runs, "--only", "pairs", "--against", "ERM", "--equivalence", "5"])).toBe(0);
  expect(printed.stdout).toContain("## Superiority, and equivalence within ±5 points");
  expect(printed.stdout).toMatch(
    /^\| ERM-NU \| +PACS, 4 of 4 domains \| +\+2\.50 \| +3 \| +superior, equivalent \| +\+1\.26 … \+3\.74 \| +0\.013 \| +0\.026 \| +\+1\.66 … \+3\.34 \| +0\.007 \| +0\.013 \|$/m,
  );
  // Both trials of SWAD have the same difference, which decides nothing, but the row counts in Holm's correction.
  expect(printed.stdout).toMatch(/^\| SWAD +\| +VLCS, 4 of 4 domains \| +\+2\.00 \| +2 \| +undecided \| +– \| +– \|/m);
  expect(printed.stdout).toContain("the differences of all 2 trials are equal, so their spread is not known");
  expect(await main(["report", runs, "--only", "influence"])).toBe(1);
  expect(printed.stderr).toContain("influence needs a search, that is, several draws of hyperparameters");
});

test("truncated, missing and foreign files do not affect other runs, and the report lists what was skipped", async () => {
  const folder = join(temporaryFolder(), "runs");
  writePacsSweep(folder);
  appendFileSync(join(folder, "pacs-photo-trial0", "records.jsonl"), '{"step":300,"model":"curr');
  rmSync(join(folder, "pacs-sketch-trial1", "records.jsonl"));
  writeFileSync(join(folder, "pacs-cartoon-trial2", "settings.json"), "{ torn");
  writeFileSync(join(folder, "notes.txt"), "mine");
  mkdirSync(join(folder, "pictures"));
  writeRun(join(folder, "unfinished"), {
    settings: { testDomains: ["photo"], trialSeed: 7, steps: 201, evaluateEvery: 100, holdout: 0.2 },
    records: accuraciesAt(0, 0.5),
    done: false,
  });
  expect(await main(["report", folder])).toBe(0);
  const [, left] = printed.stdout.split("## Notes and exclusions");
  for (const words of [
    /pacs-photo-trial0.*records\.jsonl/,
    /pacs-sketch-trial1: no records\.jsonl yet/,
    /pacs-cartoon-trial2.*settings\.json: the settings of a run could not be read/,
    /skipped notes\.txt, which is not a run/,
    /unfinished: not finished, counted up to its last evaluation. Resume with: nudge train --resume /,
  ])
    expect(left).toMatch(words);
  expect(printed.stdout).toContain("ERM, sketch held out: there is no run in trial 1, 7 (2 of 4 trials exist)");
  expect(printed.stdout).toContain("ERM, cartoon held out: there is no run in trial 2, 7 (2 of 4 trials exist)");
});

test("two runs of the same setting count once, and the report says which was skipped", async () => {
  const folder = join(temporaryFolder(), "runs");
  writePacsSweep(folder);
  writeMadeRun(join(folder, "again"), { heldOut: "photo", trial: 0, accuracy: 0.1 });
  expect(await main(["report", folder])).toBe(0);
  expect(printed.stdout).toMatch(
    /again.*skipped: .*pacs-photo-trial0 is a run of the same setting|pacs-photo-trial0: skipped: .*again/,
  );
});

test("a folder without runs and a missing folder are errors", async () => {
  const empty = temporaryFolder();
  expect(await main(["report", empty])).toBe(1);
  expect(printed.stderr).toContain("no runs to report on:\n");
  expect(printed.stderr).toContain("no runs in it");
  const [, next] = /Train with: nudge (train .*)$/m.exec(printed.stderr)!;
  const short = ["--steps", "2", "--quiet", "data.size=16", "data.perCell=6", "batchSize=4", "threads=1"];
  expect(await main([...next.replace(" --steps 300", "").split(" "), ...short])).toBe(0);
  expect(await main(["report", empty])).toBe(0);
  expect(await main(["report", join(empty, "absent")])).toBe(1);
  expect(printed.stderr).toContain("absent: no such folder. Expected a folder of runs, a run folder or a packed study");
});

test("a sweep whose runs all failed reports the first failure and how to retry", async () => {
  const folder = join(temporaryFolder(), "sweep");
  for (const { id, name } of writeManyRuns(folder, { count: 2 })) {
    for (const file of ["records.jsonl", "done"]) rmSync(join(folder, "runs", name, file));
    failAttempt(folder, id, new Error("training stopped at step 0: the loss is NaN. The batch is kept"), 0);
  }
  expect(await main(["report", folder])).toBe(1);
  expect(printed.stderr).toBe(
    `nudge: ${folder}: no runs to report on:\n  ${folder}: 0 of 2 planned runs are done, 2 failed. ` +
      "The first to fail: pacs · art_painting held out · erm · trial 0 · draw 0: training stopped at step 0: the loss is NaN. " +
      `Details: nudge sweep status ${folder}. Restore them with: nudge sweep retry ${folder}\n`,
  );
});

test("DomainBed's tables report which datasets they exclude", async () => {
  const folder = join(temporaryFolder(), "runs");
  const domains = ["filled", "outlined", "textured"];
  writeMadeRun(folder, { dataset: "shapes", domains, heldOut: "filled", trial: 0, accuracy: 0.5 });
  expect(await main(["report", folder, "--format", "domainbed"])).toBe(0);
  expect(printed.stderr).toBe(
    "nudge: DomainBed has no dataset shapes, so its tables do not include it; --format md does\n",
  );
});

test("a folder that cannot be written is an error that names it", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "file"), "");
  expect(await main(["report", twoDatasets(), "--out", join(folder, "file", "below")])).toBe(1);
  expect(printed.stderr).toContain("is not a folder. Choose another path");
});
