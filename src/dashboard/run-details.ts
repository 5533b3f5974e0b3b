/** What the page shows of one run beyond the list: settings, environment, log, every curve, and the pictures it gets wrong. */

import { join, relative, sep } from "node:path";
import { shellWord } from "../files/shell-words.js";
import { recordIn } from "../records/record.js";
import { RECORDS_FILE, SETTINGS_FILE } from "../records/run.js";
import type { CurveData, RunCurves, RunDetails } from "./api.js";
import { readEnd, readJsonInside } from "./inside.js";
import type { RunEntry } from "./run-entry.js";
import { runMistakes } from "./run-mistakes.js";

/** Of a log, as much of its end as a person may want to read. */
const LOG_BYTES = 256 << 10;

/** A record file above this is of no use on a page. */
const RECORDS_BYTES = 64 << 20;

/** Settings, environment, the log's end and the assessment. */
export async function runDetails(root: string, { id, folder }: RunEntry): Promise<RunDetails> {
  const settings = readJsonInside(root, join(folder, SETTINGS_FILE)) ?? null;
  const log = readEnd(root, join(folder, "log.txt"), LOG_BYTES);
  const text = log?.cut ? log.text.slice(log.text.indexOf("\n") + 1) : (log?.text ?? "");
  return {
    id,
    folder: asTyped(folder),
    settings,
    environment: readJsonInside(root, join(folder, "environment.json")) ?? null,
    log: text,
    logCut: log?.cut ?? false,
    assessment: await runMistakes(root, folder),
  };
}

/** A folder as one would type it in a shell: short where it lies below the folder the command was started in. */
export function asTyped(folder: string): string {
  const way = relative(process.cwd(), folder);
  return shellWord(way === "" ? "." : way === ".." || way.startsWith(`..${sep}`) ? folder : way);
}

/** All curves of a run, from its records. */
export function runCurves(root: string, { id, folder }: RunEntry): RunCurves {
  const read = readEnd(root, join(folder, RECORDS_FILE), RECORDS_BYTES);
  if (read?.cut) return { id, curves: [], notes: [`${RECORDS_FILE} is too large to draw`] };
  const curves = new Map<string, CurveData & { steps: number[]; values: (number | null)[] }>();
  let foreign = 0;
  // After the last newline is nothing, or half a line that is being written.
  for (const line of (read?.text ?? "").split("\n").slice(0, -1)) {
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
  const notes = foreign > 0 ? [`${foreign} lines of ${RECORDS_FILE} are no records and were left out`] : [];
  return { id, curves: [...curves.values()], notes };
}
