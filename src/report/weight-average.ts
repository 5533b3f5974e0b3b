/**
 * The average of studies of weights over datasets, like the last panel of the paper's Figure 4: every weight that was run on
 * each of them, with the mean over datasets of its accuracy and of the ranks of its features.
 */

import { groupBy } from "../group-by.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { PairedSummary } from "./paired.js";
import type { StudiedKind, StudiedSetting, WeightStudy } from "./weight-study.js";

/** The averages of the studies of one algorithm on several datasets. */
export function averageStudies(studies: readonly WeightStudy[]): WeightStudy[] {
  const first = studies.filter(({ plain, dataset, title }) => title === `${plain} on ${datasetTitle(dataset)}`);
  return [...groupBy(first, ({ plain }) => plain).values()].flatMap((own) => {
    const [{ plain, kinds, baseline }] = own;
    if (own.length < 2) return [];
    const shared = kinds.flatMap(({ title, penalty, settings }): StudiedKind[] => {
      const common = settings.flatMap(({ weight }) => {
        const same = own.map((study) => settingOf(study, title, weight));
        return same.every((each) => each !== undefined) ? [averageOf(same)] : [];
      });
      return common.length > 0 ? [{ title, penalty, settings: common }] : [];
    });
    if (shared.every(({ settings }) => settings.length < 2)) return [];
    const baselines = own.map((study) => study.baseline);
    const [rows] = new Set(own.map((study) => study.rows));
    return [
      {
        dataset: "",
        title: `${plain}, mean over ${own.map(({ dataset }) => datasetTitle(dataset)).join(", ")}`,
        plain,
        domains: own.map(({ dataset }) => datasetTitle(dataset)),
        trials: [...new Set(own.flatMap(({ trials }) => trials))].sort((a, b) => a - b),
        rows: own.every((study) => study.rows === rows) ? rows : null,
        baseline: baseline && baselines.every((each) => each !== null) ? averageOf(baselines) : null,
        kinds: shared,
        ...(own.some(({ searched }) => searched) && { searched: true }),
        notes: [],
      },
    ];
  });
}

const settingOf = ({ kinds }: WeightStudy, title: string, weight: number): StudiedSetting | undefined =>
  kinds.find((kind) => kind.title === title)?.settings.find((each) => each.weight === weight);

/** The mean over datasets of one weight; as in Table 1, all datasets count the same. */
function averageOf(settings: readonly StudiedSetting[]): StudiedSetting {
  const over = (of: (setting: StudiedSetting) => number): number => mean(settings.map(of));
  const ifAll = (of: (setting: StudiedSetting) => number | null): number | null => {
    const values = settings.map(of);
    return values.every((value) => value !== null) ? mean(values) : null;
  };
  const [{ method, weight, perSample, features }] = settings;
  const places = Object.keys(features) as (keyof StudiedSetting["features"])[];
  const averaged = places.map((place) => {
    const names = Object.keys(features[place]) as (keyof StudiedSetting["features"][typeof place])[];
    return [place, Object.fromEntries(names.map((name) => [name, ifAll((each) => each.features[place][name])]))];
  });
  return {
    method,
    weight,
    perSample: settings.every((each) => each.perSample === perSample) ? perSample : null,
    accuracy: over(({ accuracy }) => accuracy),
    accuracies: settings.map(({ accuracy }) => accuracy),
    difference: differenceOf(settings.map(({ difference }) => difference)),
    step: over(({ step }) => step),
    late: {
      accuracy: over(({ late }) => late.accuracy),
      size: ifAll(({ late }) => late.size),
      difference: differenceOf(settings.map(({ late }) => late.difference)),
    },
    runs: settings.reduce((sum, { runs }) => sum + runs, 0),
    unpenalised: settings.reduce((sum, { unpenalised }) => sum + unpenalised, 0),
    features: Object.fromEntries(averaged) as StudiedSetting["features"],
  };
}

/** The mean of the differences. Trials of different datasets are no pairs, so it has no interval; the comparisons have one. */
function differenceOf(differences: readonly (PairedSummary | null)[]): PairedSummary | null {
  const known = differences.filter((each) => each !== null);
  if (known.length < differences.length) return null;
  const pairs = known.reduce((sum, each) => sum + each.pairs, 0);
  return { mean: mean(known.map((each) => each.mean)), trials: 0, error: null, interval: null, p: null, pairs };
}
