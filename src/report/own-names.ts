/**
 * Runs of other testbeds under our names of their methods, so that DomainBed's `GroupDRO` and our `group-dro` are one
 * row, and `ERM_NU` is ERM with the nuclear norm. Unknown names are not changed.
 *
 * If both have a run of the same cell and trial, one row would make them compete like two draws of a search; then the
 * runs of the other testbed keep their own row.
 */

import { hparamsOn } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { UsageError } from "../errors.js";
import { type FixedSettings, NOTHING_FIXED, parseFixed } from "../records/fixed-settings.js";
import { CURRENT, type EvaluatedRun, type Method, methodKey } from "../records/index.js";
import { regularizerNamed, regularizers } from "../regularizers/index.js";
import { parseMethodName } from "../regularizers/shorthand.js";
import { methodTitle } from "../settings/names.js";

/** The runs with our names, and notes on rows that two testbeds share. */
export function withOwnNames(runs: readonly EvaluatedRun[]): { runs: readonly EvaluatedRun[]; notes: string[] } {
  const foreign = runs.filter(({ format }) => format !== "nudge");
  if (foreign.length === 0) return { runs, notes: [] };
  const names = new Map(foreign.map(({ method }) => [methodKey(method), method]));
  const own = new Map(Array.from(names, ([key, method]) => [key, ownMethod(method)]));
  const renamed = runs.map((run) => {
    const method = run.format === "nudge" ? undefined : own.get(methodKey(run.method));
    return method ? { ...run, method } : run;
  });
  const { shared, rivals } = sharedRows(renamed);
  const notes = [
    ...Array.from(shared, (title) => `${title}: this row combines runs of NUDGE and of another testbed`),
    ...Array.from(rivals.values(), (title) => `${title}: two testbeds have the same trials, so each has its own row`),
  ];
  return { runs: renamed.map((run, i) => (rivals.has(methodKey(run.method)) ? runs[i] : run)), notes };
}

/** The method under our name; undefined if it is unknown. */
function ownMethod({ algorithm: name, model, fixed }: Method): Method | undefined {
  const parsed = parseKey(name) ?? parsePaperName(name);
  if (!parsed) return undefined;
  return { ...parsed, model: model === CURRENT ? parsed.model : model, fixed: { ...parsed.fixed, ...fixed } };
}

/**
 * Names under which our runs are or were written for DomainBed: `ERM-NU [weight=0.03]`, `swad(erm+nuclear-norm)
 * [lr=0.1]`.
 */
function parseKey(name: string): Method | undefined {
  const [, model, trained, words = ""] = /^(?:([\w-]+)\()?([\w+-]+)\)?(?: \[(.*)\])?$/.exec(name) ?? [];
  if (trained === undefined || name === trained.replaceAll("+", "")) return undefined;
  const [algorithm, ...penalties] = trained.split("+");
  const base = parsePaperName(algorithm);
  const known = penalties.every((id) => Object.hasOwn(regularizers, id));
  if (!base || !known) return undefined;
  const all = [...base.regularizers, ...penalties];
  const fixed = fullNames(parseFixed(words), base.algorithm, all);
  return { ...base, regularizers: all, model: model ?? base.model, fixed };
}

/** Adds the prefixes of the algorithm and of a single penalty, which titles omit. */
function fullNames(fixed: FixedSettings, algorithm: string, [penalty, ...others]: readonly string[]): FixedSettings {
  const { hparams = {}, settings = {} } = penalty === undefined || others.length > 0 ? {} : regularizerNamed(penalty);
  const full = (name: string): string => {
    if ([hparams, settings].some((own) => Object.hasOwn(own, name))) return `${penalty}.${name}`;
    return Object.hasOwn(hparamsOn("large", algorithms[algorithm]), name) ? `${algorithm}.${name}` : name;
  };
  return Object.fromEntries(Object.entries(fixed).map(([name, value]) => [full(name), value]));
}

/** `ERM`, `ANDMask`, `Mixup_NU`, `SWAD-CORAL`. */
function parsePaperName(name: string): Method | undefined {
  try {
    const parts = { algorithms: Object.values(algorithms), averagings: Object.values(followers) };
    const { algorithm, regularizers: penalties, averaging } = parseMethodName(name.replaceAll("_", "-"), parts);
    return { algorithm, regularizers: penalties, model: averaging ?? CURRENT, fixed: NOTHING_FIXED };
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** Titles of rows with runs of several testbeds, and by key of those where these would compete. */
function sharedRows(runs: readonly EvaluatedRun[]): { shared: Set<string>; rivals: Map<string, string> } {
  const [shared, rivals] = [new Set<string>(), new Map<string, string>()];
  const rows = new Map<string, { method: Method; cells: Map<string, string>; formats: Set<string> }>();
  for (const { method, dataset, testDomains, trialSeed, format } of runs) {
    const key = methodKey(method);
    const row = rows.get(key) ?? { method, cells: new Map<string, string>(), formats: new Set<string>() };
    rows.set(key, row);
    const cell = JSON.stringify([dataset, [...testDomains].sort(), trialSeed]);
    row.formats.add(format);
    if ((row.cells.get(cell) ?? format) !== format) rivals.set(key, methodTitle(method));
    row.cells.set(cell, format);
  }
  for (const [key, { method, formats }] of rows)
    if (formats.size > 1 && formats.has("nudge") && !rivals.has(key)) shared.add(methodTitle(method));
  return { shared, rivals };
}
