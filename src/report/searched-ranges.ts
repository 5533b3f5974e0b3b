/**
 * The ranges from which searched methods drew the hyperparameters that all methods share. Some methods have their own:
 * NU draws batches of 32 to 63 pictures, as in its official code, where ERM draws 8 to 45. The difference of two such rows
 * is not only that of the method.
 */

import { algorithms } from "../algorithms/index.js";
import { datasetSize, sharedHparams } from "../algorithms/shared-hparams.js";
import { groupBy } from "../group-by.js";
import type { StoredRun } from "../records/index.js";
import { regularizers } from "../regularizers/index.js";
import type { AnyRegularizerDefinition } from "../regularizers/regularizer.js";
import type { TrainSettings } from "../settings/settings.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import { isSearched } from "./paired.js";

/** By any id: a run can have a penalty of a plug-in that is not loaded. */
const known: Readonly<Record<string, AnyRegularizerDefinition | undefined>> = regularizers;

type Searched = Pick<StoredRun["settings"], "algorithm" | "regularizers" | "dataset" | "fixed"> &
  Partial<Pick<TrainSettings, "inputShape" | "probe" | "sharedSearch">>;

/** The ranges of shared hyperparameters that a run was not given, by name. */
function rangesOf({ algorithm, regularizers: penalties, dataset, fixed, ...settings }: Searched): Map<string, string> {
  const { inputShape = [3, 224, 224], probe, sharedSearch } = settings;
  const size = probe ? "small" : datasetSize(dataset, inputShape);
  const ofPenalties = sharedSearch ? [] : penalties.map(({ id }) => known[id]?.overrides);
  const shared = sharedHparams({ dataset, size, overrides: [algorithms[algorithm]?.overrides, ...ofPenalties] });
  const drawn = Object.entries(shared).filter(([name]) => !Object.hasOwn(fixed, name));
  return new Map(drawn.map(([name, { range }]) => [name, range.text]));
}

/** A hyperparameter that some methods drew from different ranges, with the methods by range. */
interface DifferentRanges {
  readonly hparam: string;
  readonly byRange: ReadonlyMap<string, readonly ReportedMethod[]>;
}

function differentRanges(outcome: Outcome, methods: readonly ReportedMethod[], dataset: string): DifferentRanges[] {
  const searched = methods.flatMap((method) => {
    const [run] = isSearched(outcome, method.key, dataset) ? outcome.runsOf(method.key, dataset) : [];
    const stored = run && outcome.storedOf(run);
    return stored ? [{ method, ranges: rangesOf(stored.settings as Searched) }] : [];
  });
  const names = new Set(searched.flatMap(({ ranges }) => [...ranges.keys()]));
  return [...names].flatMap((hparam) => {
    const drawn = searched.filter(({ ranges }) => ranges.has(hparam));
    const groups = groupBy(drawn, ({ ranges }) => ranges.get(hparam)!);
    if (groups.size < 2) return [];
    return [
      { hparam, byRange: new Map(Array.from(groups, ([range, own]) => [range, own.map((each) => each.method)])) },
    ];
  });
}

const REMEDY = "a search with sharedSearch=true draws both from the same range";

/** What the words above a table say about it. The range of most rows is named without them. */
export function rangeWords(outcome: Outcome, datasets: readonly string[]): string[] {
  const words = datasets.flatMap((dataset) =>
    differentRanges(outcome, outcome.rowsOf(dataset), dataset).map(({ hparam, byRange }) => {
      const [[most], ...others] = [...byRange].sort(([, a], [, b]) => b.length - a.length);
      const named = others.map(([range, methods]) => `${range} in ${methods.map(({ title }) => title).join(", ")}`);
      const penalties = others.some(([, methods]) => methods.some(({ method }) => method.regularizers.length > 0));
      return `Searched ranges differ: ${hparam} was drawn from ${named.join(", ")}, and from ${most} in the other rows. A difference between such rows includes the effect of the range${penalties ? `; ${REMEDY}` : ""}.`;
    }),
  );
  return [...new Set(words)];
}

/** The notes of a comparison of two methods whose ranges differ. */
export function pairRangeWords(
  outcome: Outcome,
  pair: readonly [ReportedMethod, ReportedMethod],
  dataset: string,
): string[] {
  return differentRanges(outcome, pair, dataset).map(({ hparam, byRange }) => {
    const [first, second] = Array.from(byRange, ([range, [{ title }]]) => `${title} from ${range}`);
    const penalties = pair.some(({ method }) => method.regularizers.length > 0);
    return `the search drew ${hparam} of ${first} and of ${second}, so the difference is not that of the method alone${penalties ? `; ${REMEDY}` : ""}`;
  });
}
