/** What `nudge sweep plan` says of a plan. */

import { shellWord } from "../files/shell-words.js";
import type { Estimate } from "../sweep/estimate.js";
import type { Growth, MadePlan, PlannedRun, SweepAsked } from "../sweep/index.js";

/** All there is to say of a plan that was made. */
export interface PlanOutcome {
  readonly made: MadePlan;
  readonly folder: string;
  readonly growth: Growth;
  readonly existing: { readonly done: number; readonly begun: number };
  /** Of the runs that are new; none where nothing was measured. */
  readonly estimate?: Estimate;
  readonly dryRun: boolean;
}

const thousands = (count: number): string => count.toLocaleString("en-US");
const runs = (count: number): string => `${thousands(count)} ${count === 1 ? "run" : "runs"}`;

/** The plan in lines. */
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
    `  done already: ${thousands(existing.done)}; begun: ${thousands(existing.begun)}; to do: ${thousands(all.length - existing.done)}`,
  ];
  if (growth.shared > 0)
    lines.push(
      `  ${runs(growth.shared)} not planned by themselves: a run with an average of the same weights has their records`,
    );
  if (growth.moved.size > 0)
    lines.push(
      `  ${runs(growth.moved.size)} planned before, with other files or another device: they are made with these`,
    );
  if (estimate) lines.push(...estimateInWords(estimate).map((line) => `  ${line}`));
  const where = growth.added.length === growth.runs ? "" : `, ${runs(growth.runs)} in all`;
  lines.push(
    "",
    dryRun
      ? `nothing was written (--dry-run); ${runs(growth.added.length)} would be new in ${folder}`
      : `${folder}: ${growth.added.length === 0 ? "nothing new" : `${runs(growth.added.length)} added`}${where}`,
  );
  if (!dryRun)
    lines.push("", `Next:  nudge sweep run ${shellWord(folder)}`, `       nudge report ${shellWord(folder)}`);
  return `${lines.join("\n")}\n`;
}

/** What was given, in the place of the protocol's and the preset's own. */
function givenInWords({ words: { request } }: MadePlan): string[] {
  const { given } = request as SweepAsked;
  const pairs = Object.entries(given).flatMap(([name, value]) => {
    if (name !== "grid" || typeof value !== "object" || value === null) return [`${name}=${value}`];
    return Object.entries(value).map(([setting, values]) => `grid ${setting}=${values}`);
  });
  return pairs.length === 0 ? [] : [`With ${pairs.join(" ")}.`];
}

/** `pacs: 1,200 runs: 25 methods, 4 sets of held-out domains, 3 trials, 20 draws`, and how many values of what a grid has. */
function byDataset({ runs: all, parts }: MadePlan): string[] {
  const groups = new Map<string, PlannedRun[]>();
  for (const run of all) {
    const data = String(run.request.data);
    const own = groups.get(data);
    if (own) own.push(run);
    else groups.set(data, [run]);
  }
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

/** More methods than these are not named on one line. */
const NAMED = 8;

/** ` (ERM and SWAD, ERM-NU)`: SWAD, which was asked for by itself, is there with the method whose weights it averages. */
function namedMethods(runs: readonly PlannedRun[]): string {
  const names = new Set(runs.map(({ title }) => title.split(" · ")[2]));
  return names.size > NAMED ? "" : ` (${[...names].join(", ")})`;
}

/** How many values each setting of a grid takes on a dataset. */
function gridOf(parts: MadePlan["parts"], data: string): [name: string, values: number][] {
  const grids = parts.filter((part) => part.data.includes(data)).flatMap(({ grid }) => Object.entries(grid));
  const names = [...new Set(grids.map(([name]) => name))];
  return names.map((name) => [name, new Set(grids.flatMap(([other, values]) => (other === name ? values : []))).size]);
}

/** What the new runs would take, on what it stands, and how little it knows. */
export function estimateInWords({ seconds, disk, device, threads, kinds, measured, guessed }: Estimate): string[] {
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
      : `${measured} of ${kinds} kinds of runs; the others count as their mean`;
  return [
    `estimated for what is new, one run at a time on this machine (${device}, ${threads} ${threads === 1 ? "thread" : "threads"}): ${durationWords(total)} (${spread} a run), ${sizeWords(disk)} of disk`,
    `  from a short trial of ${basis}${guessed ? "; evaluations by the cost of updates" : ""}`,
  ];
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
