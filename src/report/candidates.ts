/**
 * Which runs can be selected: none that failed, and of a run that an average ended before its last step only the rows
 * of that average, because its training is shorter than that of other runs.
 */

import { followers } from "../averaging/index.js";
import { underFormerNames } from "../options.js";
import type { EvaluatedRun } from "../records/evaluated-run.js";
import { CURRENT } from "../records/record.js";
import type { RunSettings, StoredRun } from "../records/run.js";
import { mean } from "../selection/mean.js";

/** Runs that can be selected, and a note on those that an average ended. */
export function withoutEndedEarly(
  runs: readonly EvaluatedRun[],
  storedOf: (run: EvaluatedRun) => StoredRun | undefined,
): { runs: EvaluatedRun[]; notes: string[] } {
  const ended = new Map<string, string>();
  for (const run of runs) {
    const stored = run.method.model === CURRENT ? storedOf(run) : undefined;
    const by = stored?.done ? endedBy(stored.settings, run) : undefined;
    if (by !== undefined) ended.set(run.source, by);
  }
  if (ended.size === 0) return { runs: [...runs], notes: [] };
  const isCandidate = ({ source, method }: EvaluatedRun): boolean =>
    !ended.has(source) || method.model.split("+").includes(ended.get(source)!);
  const kept = runs.filter(isCandidate);
  const notes = [...new Set(ended.values())].map((id) => {
    const count = [...ended.values()].filter((each) => each === id).length;
    const title = followers[id]?.title ?? id;
    return `${count === 1 ? "1 run that" : `${count} runs that`} ${title} ended before the last step ${count === 1 ? "has" : "have"} no row of the trained model, because the training is shorter. For such a row, add the method without ${title} to the sweep, or set ${id}.afterValley=continue`;
  });
  return { runs: kept, notes };
}

/** The average that ended a finished run before its last step; undefined if it trained to the end, or stopped by validation. */
function endedBy({ averaging, steps, patience }: RunSettings, run: EvaluatedRun): string | undefined {
  if (steps === undefined) return undefined;
  const stopping = averaging.find(({ id, settings }) => optionOf(id, settings, "afterValley") === "stop");
  if (!stopping) return undefined;
  const { evaluations, domains, testDomains } = run;
  const last = Math.max(...evaluations.map(({ step }) => step));
  if (!(last < steps - 1)) return undefined;
  if (patience === undefined) return stopping.id;
  const training = domains.filter((domain) => !testDomains.includes(domain));
  const scores = evaluations.map(({ accuracy }) => mean(training.map((name) => accuracy.get(name)?.out ?? Number.NaN)));
  const best = scores.indexOf(Math.max(...scores));
  return scores.length - 1 - best >= patience ? undefined : stopping.id;
}

/** A setting of an average, also under its former name. */
function optionOf(id: string, settings: Readonly<Record<string, unknown>>, name: string): unknown {
  const declared = Object.hasOwn(followers, id) ? followers[id].settings : {};
  const [former] = Object.keys(underFormerNames(declared, { [name]: 0 }));
  return settings[name] ?? settings[former];
}
