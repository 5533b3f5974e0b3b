/** A report's figures, each under the name of its file. */

import { curveCharts } from "./curves.js";
import { improvementChart, improvementSummary } from "./improvement.js";
import type { Report } from "./report.js";
import { weightFigures } from "./weight-figure.js";

export interface NamedFigure {
  /** Without an ending; no two are the same. */
  readonly name: string;
  readonly svg: string;
}

/**
 * What a penalty adds (`improvement`, the paper's Figure 3, and domain by domain `improvement-erm-nu-over-erm`), its weight
 * (`weight-erm-nu-on-pacs`, the paper's Figure 4), and training curves (`curves-pacs-sketch`); those there are runs for.
 */
export function reportFigures({ outcome, comparisons }: Report): NamedFigure[] {
  const { datasets } = outcome;
  const figures = [
    ...(comparisons.length > 0 ? [{ title: "improvement", svg: improvementSummary(comparisons) }] : []),
    ...comparisons.map((each) => ({
      title: `improvement ${each.first} over ${each.second}`,
      svg: improvementChart(each),
    })),
    ...datasets
      .flatMap((dataset) => weightFigures(outcome, dataset))
      .map(({ title, svg }) => ({ title: `weight ${title}`, svg })),
    ...datasets.flatMap((dataset) =>
      curveCharts(outcome, dataset).map(({ domain, svg }) => ({ title: `curves ${dataset} ${domain}`, svg })),
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
