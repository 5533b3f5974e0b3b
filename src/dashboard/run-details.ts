/** The details of one run: settings, environment, log, curves and misclassified pictures. */

import { relative, sep } from "node:path";
import { jsonIn, readEnd } from "../files/inside-files.js";
import { shellWord } from "../files/shell-words.js";
import { FolderFiles } from "../files/stored-files.js";
import { recordIn } from "../records/record.js";
import { RECORDS_FILE, SETTINGS_FILE } from "../records/run.js";
import type { IndexedRun } from "../run-index/indexed-run.js";
import type { CurveData, RunCurves, RunDetails } from "./api.js";
import { runMistakes } from "./run-mistakes.js";

/** The maximum length of the end of a log, in bytes. */
const LOG_BYTES = 256 << 10;

/** Settings, environment, the end of the log and the assessment. Pictures below `roots` are shown. */
export async function runDetails(run: IndexedRun, roots: readonly string[]): Promise<RunDetails> {
  const { id, files } = run;
  const log = files instanceof FolderFiles ? readEnd(files, "log.txt", LOG_BYTES) : undefined;
  const text = log?.cut ? log.text.slice(log.text.indexOf("\n") + 1) : (log?.text ?? "");
  return {
    id,
    folder: asTyped(files.path),
    settings: jsonIn(files, SETTINGS_FILE) ?? null,
    environment: jsonIn(files, "environment.json") ?? null,
    log: text,
    logCut: log?.cut ?? false,
    packed: run.isPacked,
    assessment: await runMistakes(files, roots),
  };
}

/** A folder as typed in a shell: relative if it is below the folder in which the command was started. */
export function asTyped(folder: string): string {
  const way = relative(process.cwd(), folder);
  return shellWord(way === "" ? "." : way === ".." || way.startsWith(`..${sep}`) ? folder : way);
}

/** All curves of a run, from its records. */
export function runCurves({ id, files }: IndexedRun): RunCurves {
  const text = files.text(RECORDS_FILE);
  if (text === undefined && files.has(RECORDS_FILE))
    return { id, curves: [], notes: [`${RECORDS_FILE} is too large to draw`] };
  const curves = new Map<string, CurveData & { steps: number[]; values: (number | null)[] }>();
  let foreign = 0;
  // After the last newline there is nothing, or an incomplete line that is being written.
  for (const line of (text ?? "").split("\n").slice(0, -1)) {
    const record = recordIn(line);
    if (!record) {
      foreign++;
      continue;
    }
    const { step, model, domain, split, metric, value } = record;
    const key = JSON.stringify([metric, model, domain, split]);
    const curve = curves.get(key) ?? { model, domain, split, metric, steps: [], values: [] };
    curves.set(key, curve);
    curve.steps.push(step);
    curve.values.push(Number.isFinite(value) ? value : null);
  }
  const notes = foreign > 0 ? [`${foreign} lines of ${RECORDS_FILE} are not records and were skipped`] : [];
  return { id, curves: [...curves.values()], notes };
}
