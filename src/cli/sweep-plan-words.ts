/** The output of `nudge sweep plan`. */

import { shellWord } from "../files/shell-words.js";
import { groupBy } from "../group-by.js";
import type { Estimate } from "../sweep/estimate.js";
import type { Growth } from "../sweep/grow-plan.js";
import { type KeptModels, keptModels } from "../sweep/kept-models.js";
import type { MadePlan, PlanRequest } from "../sweep/make-plan.js";
import { runCommand } from "../sweep/run-command.js";
import { type PlannedRun, readSweepFile } from "../sweep/sweep-folder.js";

/** Everything about a new plan that is printed. */
export interface PlanOutcome {
  readonly made: MadePlan;
  readonly folder: string;
  readonly growth: Growth;
  readonly existing: { readonly done: number; readonly begun: number };
  /** The estimate for the new runs; absent if nothing was measured. */
  readonly estimate?: Estimate;
  readonly dryRun: boolean;
}

const thousands = (count: number): string => count.toLocaleString("en-US");
const runs = (count: number): string => `${thousands(count)} ${count === 1 ? "run" : "runs"}`;

/** The plan as lines of text. */
export function planInWords({ made, folder, growth, existing, estimate, dryRun }: PlanOutcome): string {
  const { words, runs: all } = made;
  const lines = [
    `${words.name}: ${runs(all.length)}`,
    ...words.protocol.map((line) => `  ${line}`),
    ...givenInWords(made).map((line) => `  ${line}`),
    "",
    ...byDataset(made).map((line) => `  ${line}`),
    ...made.notes.map((note) => `  note: ${note}`),
    "",
    `  already done: ${thousands(existing.done)}; started: ${thousands(existing.begun)}; to do: ${thousands(all.length - existing.done)}`,
  ];
  if (growth.changed.size > 0)
    lines.push(
      `  ${runs(growth.changed.size)} planned again under another id, because the samples or the code of a plug-in have changed since; the earlier runs are kept`,
    );
  if (growth.shared > 0)
    lines.push(
      `  ${runs(growth.shared)} not planned separately: a run that averages the weights of the same training contains their records`,
    );
  if (growth.moved.size > 0)
    lines.push(`  ${runs(growth.moved.size)} were planned with other files or another device, and will now use these`);
  if (estimate) lines.push(...estimateInWords(estimate, made.words.models ?? "all").map((line) => `  ${line}`));
  const where = growth.added.length === growth.runs ? "" : `, ${runs(growth.runs)} in all`;
  lines.push(
    "",
    dryRun
      ? `nothing was written (--dry-run); ${runs(growth.added.length)} would be added to ${folder}`
      : `${folder}: ${growth.added.length === 0 ? "nothing new" : `${runs(growth.added.length)} added`}${where}`,
  );
  if (!dryRun)
    lines.push("", `Next:  ${runCommand(folder, readSweepFile(folder))}`, `       nudge report ${shellWord(folder)}`);
  return `${lines.join("\n")}\n`;
}

/** The values given by the user, which replace those of the protocol and the preset. */
function givenInWords({ words: { request } }: MadePlan): string[] {
  const { given } = request as PlanRequest;
  const pairs = Object.entries(given).flatMap(([name, value]) => {
    if (name !== "grid" || typeof value !== "object" || value === null) return [`${name}=${value}`];
    return Object.entries(value).map(([setting, values]) => `grid ${setting}=${values}`);
  });
  return pairs.length === 0 ? [] : [`With ${pairs.join(" ")}.`];
}

/**
 * `pacs: 1,200 runs: 25 methods, 4 sets of held-out domains, 3 trials, 20 draws`, and the number of values of each
 * setting of a grid.
 */
function byDataset({ runs: all, parts }: MadePlan): string[] {
  const groups = groupBy(all, ({ request }) => String(request.data));
  return Array.from(groups, ([data, own]) => {
    const different = (...names: string[]): number =>
      new Set(own.map(({ request }) => JSON.stringify(names.map((name) => request[name])))).size;
    const count = (n: number, one: string, many: string): string => `${thousands(n)} ${n === 1 ? one : many}`;
    return `${data}: ${runs(own.length)}: ${[
      `${count(different("algorithm", "regularizers"), "method", "methods")}${namedMethods(own)}`,
      count(different("testDomains"), "set of held-out domains", "sets of held-out domains"),
      count(different("trialSeed"), "trial", "trials"),
      ...(different("hparamsSeed") > 1 ? [count(different("hparamsSeed"), "draw", "draws")] : []),
      ...gridOf(parts, data).map(([name, values]) => count(values, `value of ${name}`, `values of ${name}`)),
    ].join(", ")}`;
  });
}

/** If there are more methods than this, they are not listed on the line. */
const NAMED = 8;

/** ` (ERM and SWAD, ERM-NU)`: SWAD is listed with the method whose weights it averages. */
function namedMethods(runs: readonly PlannedRun[]): string {
  const names = new Set(runs.map(({ title }) => title.split(" · ")[2]));
  return names.size > NAMED ? "" : ` (${[...names].join(", ")})`;
}

/** The number of values of each setting of a grid on a dataset. */
function gridOf(parts: MadePlan["parts"], data: string): [name: string, values: number][] {
  const grids = parts.filter((part) => part.data.includes(data)).flatMap(({ grid }) => Object.entries(grid));
  const names = [...new Set(grids.map(([name]) => name))];
  return names.map((name) => [name, new Set(grids.flatMap(([other, values]) => (other === name ? values : []))).size]);
}

/** The estimated cost of the new runs, what the estimate is based on, and how complete that is. */
export function estimateInWords(
  { seconds, disk, checkpoint, device, threads, kinds, measured, guessed }: Estimate,
  models: KeptModels,
): string[] {
  const total = seconds.reduce((sum, each) => sum + each, 0);
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const each of seconds) [least, most] = [Math.min(least, each), Math.max(most, each)];
  const spread =
    durationWords(least) === durationWords(most)
      ? durationWords(least)
      : `${durationWords(least)} to ${durationWords(most)}`;
  const basis =
    measured === kinds
      ? `${kinds} of ${kinds} kinds of runs`
      : `${measured} of ${kinds} kinds of runs; the mean is used for the others`;
  return [
    `estimate for the new runs, one at a time on this machine (${device}, ${threads} ${threads === 1 ? "thread" : "threads"}): ${durationWords(total)} (${spread} per run)`,
    diskWords(disk, checkpoint, models),
    `  measured in a short trial of ${basis}${guessed ? "; the cost of evaluations is derived from that of updates" : ""}`,
  ];
}

/** `disk: 1.4 GB with all models (--models chosen: 220 MB, none: 90 MB), and 280 MB for each run in progress`. */
function diskWords(disk: Estimate["disk"], checkpoint: number, models: KeptModels): string {
  const others = keptModels
    .filter((each) => each !== models && sizeWords(disk[each]) !== sizeWords(disk[models]))
    .map((each) => `${each}: ${sizeWords(disk[each])}`);
  const choice = others.length > 0 ? ` (--models ${others.join(", ")})` : "";
  const kept = { all: "all models", chosen: "the chosen models", none: "no models" }[models];
  return `disk: ${sizeWords(disk[models])} with ${kept}${choice}, and ${sizeWords(checkpoint)} for each run in progress`;
}

/** `45 s`, `12 min`, `3 h 20 min`, `4 d 5 h`. */
export function durationWords(seconds: number): string {
  if (seconds < 100) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${thousands(Math.floor(hours / 24))} d ${hours % 24} h`;
}

function sizeWords(bytes: number): string {
  const units = ["kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes / 1000, 0];
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
