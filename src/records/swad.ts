/**
 * Result folders of SWAD and its descendants MIRO and the official NU code (khanrc/swad 252190e). `results.jsonl` has
 * keys without `_acc`, all test environments of a run in one file, and no `in` of training domains. The accuracy of the
 * averaged weights is only in `log.txt`, in the row after "Evaluate SWAD ...", with six decimals.
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readText } from "../files/open-file.js";
import { show } from "../files/stored-json.js";
import { type ReadResultsFile, readResultLines, toResultLine } from "./domainbed.js";
import type { DomainAccuracy, EvaluatedRun } from "./evaluated-run.js";
import { isObject } from "./json-lines.js";

/** Reads a SWAD result file, and the results of the averaged model from the log next to it. */
export function readSwad(path: string): ReadResultsFile {
  const { runs, notes } = readResultLines(path, (line) => {
    const { args } = line;
    if (!isObject(args)) return `args is ${show(args)}, not an object`;
    return toResultLine({ path, line, args, testPlaces: args.real_test_envs, suffix: "", format: "swad" });
  });
  const log = join(dirname(path), "log.txt");
  if (!existsSync(log)) return { runs, notes };
  const averaged = averagedRows(readText(log)).flatMap(({ testPlaces, step, values }) => {
    const trained = runs.find(
      ({ domains, testDomains }) => `${testDomains.map((d) => domains.indexOf(d))}` === testPlaces,
    );
    const run = trained && withAverage(trained, step, values);
    if (!run)
      notes.push(`${log}: the averaged model of test environment ${testPlaces} was skipped: its row is not whole`);
    return run ? [run] : [];
  });
  return { runs: [...runs, ...averaged], notes };
}

interface AveragedRow {
  /** As `0`, or `0,2`. */
  readonly testPlaces: string;
  /** The last step in the average. */
  readonly step: number;
  readonly values: ReadonlyMap<string, number>;
}

/** The rows of averaged models in a log, under the last headings before them. */
function averagedRows(log: string): AveragedRow[] {
  const rows: AveragedRow[] = [];
  let testPlaces = "";
  let keys: readonly string[] = [];
  let awaited = false;
  for (const line of log.split("\n")) {
    const message = line.slice(line.indexOf(" | ") + 3).trim();
    const test = /^Test envs = \[([\d, ]+)\]/.exec(message);
    if (test) testPlaces = test[1].replaceAll(" ", "");
    if (message.startsWith("test_in")) keys = message.split(/\s+/);
    const range = /^(.*) \[-?\d+-(\d+)\]\s+\(N=\d+\)$/.exec(message);
    if (awaited && range) {
      const numbers = range[1].trim().split(/\s+/).map(Number);
      rows.push({ testPlaces, step: Number(range[2]), values: new Map(numbers.map((value, i) => [keys[i], value])) });
      awaited = false;
    }
    if (message.startsWith("Evaluate SWAD")) awaited = true;
  }
  return rows;
}

/** The run of the averaged model, in addition to that of the model it averages; undefined if a number is missing. */
function withAverage(run: EvaluatedRun, step: number, values: ReadonlyMap<string, number>): EvaluatedRun | undefined {
  const accuracy = new Map<string, DomainAccuracy>();
  for (const [i, domain] of run.domains.entries()) {
    const [inside, out] = [values.get(`env${i}_in`), values.get(`env${i}_out`)];
    if (out === undefined || (inside === undefined && run.testDomains.includes(domain))) return undefined;
    accuracy.set(domain, inside === undefined ? { out } : { in: inside, out });
  }
  return { ...run, method: { ...run.method, model: "swad" }, evaluations: [{ step, accuracy }] };
}
