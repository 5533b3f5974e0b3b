/** The status of a sweep as text. */

import { showLine } from "../data/show-name.js";
import { shellWord } from "../files/shell-words.js";
import { runCommand } from "../sweep/run-command.js";
import { RUN_STATES, stateWord } from "../sweep/run-state.js";
import { shortLine } from "../sweep/short-titles.js";
import { duration } from "../training/reporter.js";
import type { RunStatus, SweepStatus } from "./status.js";

/** The maximum number of runs of a kind that are listed, unless all are requested. */
const LISTED = { running: 20, failed: 10 };

const COUNTED = RUN_STATES.filter((state) => state !== "stopped");

/** The shown part of a run's id, which is nearly always unique in a sweep of any size. */
export const shortId = (id: string): string => id.slice(0, 8);

const runs = (count: number): string => `${count.toLocaleString("en-US")} ${count === 1 ? "run" : "runs"}`;

/** The status as lines of text. `jobs` are the reports of schedulers. */
export function statusText(status: SweepStatus, { all = false, jobs = [] as readonly string[] } = {}): string {
  const { folder, name, settings, counts, begun, running, failed, hopeless, secondsLeft } = status;
  const most = all ? { running: Number.POSITIVE_INFINITY, failed: Number.POSITIVE_INFINITY } : LISTED;
  return [
    `${name}: ${runs(status.runs)} in ${folder}`,
    ...(settings.length > 0 ? [`all with ${settings.join(" ")}`] : []),
    "",
    ...countLines(counts, status.runs, begun),
    ...(jobs.length > 0 ? ["", ...jobs] : []),
    ...section("running", running, most.running, runningLines),
    ...silentLines(running),
    ...section("failed", failed, most.failed, (shown) => failedLines(shown, folder)),
    ...(all ? section("stopped early", hopeless, most.failed, (shown) => failedLines(shown, folder)) : []),
    ...(secondsLeft === null
      ? []
      : [
          "",
          `about ${duration(secondsLeft)} left with ${running.length === 1 ? "1 run" : `${running.length} runs`} in parallel`,
        ]),
    "",
    nextLine(status),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

function countLines(counts: SweepStatus["counts"], total: number, begun: number): string[] {
  const shown = COUNTED.filter((state) => counts[state] > 0 || state === "done" || state === "waiting");
  const width = Math.max(...shown.map((state) => counts[state].toLocaleString("en-US").length));
  return shown.map((state) => {
    const count = counts[state].toLocaleString("en-US").padStart(width);
    const share = total === 0 ? "" : `  ${Math.floor((100 * counts.done) / total)} %`;
    const note =
      state === "done"
        ? share
        : state === "waiting" && begun > 0
          ? `  ${begun.toLocaleString("en-US")} of them started`
          : "";
    return `  ${stateWord(state).padEnd(15)}${count}${note}`;
  });
}

function section(
  heading: string,
  list: readonly RunStatus[],
  most: number,
  lines: (shown: readonly RunStatus[]) => string[],
): string[] {
  if (list.length === 0) return [];
  const rest = list.length - most;
  return ["", heading, ...lines(list.slice(0, most)), ...(rest > 0 ? [`  and ${rest} more (--all)`] : [])];
}

function runningLines(shown: readonly RunStatus[]): string[] {
  const rows = shown.map(({ id, progress, silent, maker, title }) => [
    shortId(id),
    progress ? `${progress.step}/${progress.steps}` : "starting",
    progress ? duration(progress.left) : "?",
    maker ? `${maker.host}:${maker.pid}` : "",
    silent === null ? title : `${title} (no step for ${duration(silent)})`,
  ]);
  const heads = ["run", "step", "left", "process", ""];
  const widths = heads.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i].length)));
  const line = (row: readonly string[]): string =>
    `  ${row.map((cell, i) => (i === 2 ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join("  ")}`.trimEnd();
  return [line(heads), ...rows.map(line)].map(showLine);
}

/** What to do about runs that have not reported a step for a long time. */
function silentLines(running: readonly RunStatus[]): string[] {
  if (running.every(({ silent }) => silent === null)) return [];
  return [
    "  no step for a long time: the run evaluates many pictures, or hangs. If you kill it (kill -9 PROCESS), it resumes from its checkpoint",
  ];
}

function failedLines(shown: readonly RunStatus[], folder: string): string[] {
  return shown.flatMap(({ id, title, error }) =>
    [
      `  ${shortId(id)}  ${title}`,
      `            ${error === null ? "no error was recorded" : shortLine(error)}`,
      `            details: nudge sweep status ${shellWord(folder)} ${shortId(id)}`,
    ].map(showLine),
  );
}

/** What to do next. */
function nextLine({ folder, runs: total, counts, plugins }: SweepStatus): string {
  const where = shellWord(folder);
  if (counts.done === total) return `all done; print tables with: nudge report ${where}`;
  if (counts.running > 0) return `print the current tables with: nudge report ${where}`;
  if (counts.waiting > 0) return `no process is working on it; resume with: ${runCommand(folder, { plugins })}`;
  return `restore failed and cancelled runs with: nudge sweep retry ${where}`;
}
