/** A report's figures, each under the name of its file. */

import { areMany } from "./comparison-table.js";
import { curveCharts } from "./curves.js";
import { improvementChart, improvementSummary } from "./improvement.js";
import { influenceFigures } from "./influence-figure.js";
import type { Report } from "./report.js";
import { weightFigure } from "./weight-figure.js";

export interface NamedFigure {
  /** Without an ending; no two are the same. */
  readonly name: string;
  readonly svg: string;
}

/**
 * What a penalty adds (`improvement`, the paper's Figure 3, and, of a few pairs, domain by domain `improvement-erm-nu-over-erm`), its weight
 * (`weight-erm-on-pacs`, the paper's Figure 4 with controls), what each searched hyperparameter did (`influence-erm-on-pacs`), and training curves (`curves-pacs-sketch`); those there are
 * runs for.
 */
export function reportFigures({ outcome, comparisons, weights, influence, curves }: Report): NamedFigure[] {
  const { datasets } = outcome;
  const figures = [
    ...(comparisons.length > 0 ? [{ title: "improvement", svg: improvementSummary(comparisons) }] : []),
    ...(areMany(comparisons) ? [] : comparisons).map((each) => ({
      title: `improvement ${each.first} over ${each.second}`,
      svg: improvementChart(each),
    })),
    ...weights.map((study) => ({ title: `weight ${study.title}`, svg: weightFigure(study) })),
    ...influenceFigures(influence).map(({ title, svg }) => ({ title: `influence ${title}`, svg })),
    ...datasets.flatMap((dataset) =>
      curveCharts(outcome, dataset, curves).map(({ domain, svg }) => ({ title: `curves ${dataset} ${domain}`, svg })),
    ),
  ];
  const names = new Map<string, number>();
  return figures.map(({ title, svg }) => {
    const plain = title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "");
    const before = names.get(plain) ?? 0;
    names.set(plain, before + 1);
    return { name: before === 0 ? plain : `${plain}-${before + 1}`, svg };
  });
}
