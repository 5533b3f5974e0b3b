/**
 * How each searched hyperparameter affects accuracy: the validation and test accuracy of every draw minus the mean over
 * the draws of the same held-out domain and trial, by thirds of the drawn values (or by value if there are few), and
 * Spearman's rank correlation. All hyperparameters are drawn at the same time, so this is the effect of one averaged
 * over the draws of the others.
 */

import { groupBy } from "../group-by.js";
import { methodKey, type SettingScalar } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { signedPoints } from "../selection/signed-points.js";
import { datasetTitle } from "../settings/names.js";
import { drawsOf, hparamsOf, valueText, varyingNames } from "./draws.js";
import type { Outcome } from "./outcome.js";
import type { TextTable } from "./text-table.js";

/** One draw in one cell and trial: accuracies minus the mean over the draws there, as fractions. */
export interface InfluencePoint {
  readonly value: SettingScalar;
  readonly validation: number;
  readonly test: number;
}

export interface InfluenceBin extends Pick<InfluencePoint, "validation" | "test"> {
  /** `0.1`, or `3.2e-5 … 8.1e-5`. */
  readonly title: string;
  /** The median of the drawn values; null if they are not numbers. */
  readonly value: number | null;
  readonly runs: number;
}

export interface Influence {
  readonly dataset: string;
  readonly method: string;
  readonly title: string;
  readonly hparam: string;
  readonly points: readonly InfluencePoint[];
  readonly bins: readonly InfluenceBin[];
  /** Spearman's ρ with each accuracy; null if the values are not numbers. */
  readonly correlation: { readonly validation: number; readonly test: number } | null;
}

/** Up to this many distinct values are shown individually. */
const FEW = 4;

/** The influence of every searched hyperparameter of every method on every dataset. */
export function influences(outcome: Outcome): Influence[] {
  const byRow = groupBy(drawsOf(outcome), ({ dataset, method }) => JSON.stringify([dataset, methodKey(method)]));
  return outcome.datasets.flatMap((dataset) =>
    outcome.methods.flatMap(({ key: method, title }) => {
      const draws = centred(byRow.get(JSON.stringify([dataset, method])) ?? []);
      const values = draws.map(({ choice }) => hparamsOf(outcome, choice.run));
      return varyingNames(values).map((hparam): Influence => {
        // An option of one optimizer is in the draws that use it.
        const points = draws.flatMap(({ validation, test }, i): InfluencePoint[] =>
          Object.hasOwn(values[i], hparam) ? [{ value: values[i][hparam], validation, test }] : [],
        );
        return { dataset, method, title, hparam, points, bins: binsOf(points), correlation: correlationOf(points) };
      });
    }),
  );
}

/** The draws of cells with at least two draws, each with its accuracies minus the mean of the cell. */
function centred(draws: readonly GroupResult[]): (GroupResult & Pick<InfluencePoint, "validation" | "test">)[] {
  const known = draws.filter(({ choice }) => Number.isFinite(choice.validation) && Number.isFinite(choice.test));
  const cells = groupBy(known, ({ testDomain, trialSeed }) => JSON.stringify([testDomain, trialSeed]));
  return [...cells.values()]
    .filter(({ length }) => length > 1)
    .flatMap((cell) => {
      const [validation, test] = [
        mean(cell.map(({ choice }) => choice.validation)),
        mean(cell.map(({ choice }) => choice.test)),
      ];
      return cell.map((draw) => ({
        ...draw,
        validation: draw.choice.validation - validation,
        test: draw.choice.test - test,
      }));
    });
}

const isNumber = (value: SettingScalar): value is number => typeof value === "number";

function binsOf(points: readonly InfluencePoint[]): InfluenceBin[] {
  const values = new Set(points.map(({ value }) => value));
  const ordered = points.toSorted((a, b) => compare(a.value, b.value));
  const thirds = (): (readonly InfluencePoint[])[] => {
    // Equal values stay in one third: a draw is in the same group for all domains.
    const cuts = [1, 2].map((k) => ordered[Math.floor((k * ordered.length) / 3)].value);
    const third = ({ value }: InfluencePoint): number => cuts.filter((cut) => compare(value, cut) >= 0).length;
    return [...groupBy(ordered, third).values()];
  };
  const groups =
    values.size <= FEW || !points.every(({ value }) => isNumber(value))
      ? [...groupBy(ordered, ({ value }) => value).values()]
      : thirds();
  return groups.map((group) => {
    const [first, last] = [group[0].value, group[group.length - 1].value];
    const middle = group[Math.floor(group.length / 2)].value;
    return {
      title: first === last ? valueText(first) : `${valueText(first)} … ${valueText(last)}`,
      value: isNumber(middle) ? middle : null,
      runs: group.length,
      validation: mean(group.map(({ validation }) => validation)),
      test: mean(group.map(({ test }) => test)),
    };
  });
}

function compare(a: SettingScalar, b: SettingScalar): number {
  if (isNumber(a) && isNumber(b)) return a - b;
  return String(a) < String(b) ? -1 : Number(a !== b);
}

function correlationOf(points: readonly InfluencePoint[]): Influence["correlation"] {
  const values = points.map(({ value }) => value);
  if (!values.every(isNumber)) return null;
  return {
    validation: spearman(
      values,
      points.map(({ validation }) => validation),
    ),
    test: spearman(
      values,
      points.map(({ test }) => test),
    ),
  };
}

/**
 * Spearman's rank correlation: Pearson's correlation of the ranks, with mean ranks for ties. NaN if one of them does
 * not vary.
 */
export function spearman(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [ranksOf(a), ranksOf(b)];
  const middle = (a.length - 1) / 2;
  const product = (u: readonly number[], v: readonly number[]): number =>
    u.reduce((total, rank, i) => total + (rank - middle) * (v[i] - middle), 0);
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}

function ranksOf(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((i, j) => values[i] - values[j]);
  const ranks: number[] = [];
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && values[order[to]] === values[order[from]]) to++;
    for (let k = from; k < to; k++) ranks[order[k]] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}

/** The influences on each dataset as a table of texts. */
export function influenceTables(found: readonly Influence[]): TextTable[] {
  return [...groupBy(found, ({ dataset }) => dataset)].map(([dataset, own]) => ({
    title: `Influence of hyperparameters on ${datasetTitle(dataset)}`,
    words: [
      "Accuracy of the draws with these values, in points above or below the mean over all draws of the same held-out domain and trial; model selection uses the validation accuracy. Values are grouped into thirds, or shown individually if there are few. ρ: Spearman's rank correlation of the value with that accuracy. The other hyperparameters were drawn at the same time.",
    ],
    head: ["Algorithm", "hyperparameter", "values", "runs", "validation", "test", "ρ validation", "ρ test"],
    rows: own.flatMap(({ title, hparam, bins, correlation }) =>
      bins.map((bin, i) => [
        ...[
          i === 0 ? title : "",
          i === 0 ? hparam : "",
          bin.title,
          String(bin.runs),
          signedPoints(bin.validation),
          signedPoints(bin.test),
        ],
        ...(["validation", "test"] as const).map((of) => (i > 0 ? "" : rho(correlation?.[of]))),
      ]),
    ),
    notes: [],
  }));
}

const rho = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? "–" : `${value > 0 ? "+" : ""}${value.toFixed(2)}`;
