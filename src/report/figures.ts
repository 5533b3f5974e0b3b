/** The figures of a report, each with the name of its file. */

import { areMany } from "./comparison-table.js";
import { curveCharts } from "./curves.js";
import { equivalenceFigure } from "./equivalence-figure.js";
import { improvementChart, improvementSummary } from "./improvement.js";
import { influenceFigures } from "./influence-figure.js";
import type { Report } from "./report.js";
import { weightFigure } from "./weight-figure.js";

export interface NamedFigure {
  /** Without an extension; all names are distinct. */
  readonly name: string;
  readonly svg: string;
}

/**
 * The effect of a penalty (`improvement`, the paper's Figure 3, and for a few pairs by domain
 * `improvement-erm-nu-over-erm`), tests of equivalence (`equivalence`), the weight of a penalty (`weight-erm-on-pacs`, the paper's Figure 4 with controls), the effect of
 * each searched hyperparameter (`influence-erm-on-pacs`), and training curves (`curves-pacs-sketch`), as far as there
 * are runs.
 */
export function reportFigures({
  outcome,
  comparisons,
  equivalence,
  weights,
  influence,
  curves,
}: Report): NamedFigure[] {
  const { datasets } = outcome;
  const forest = equivalence && equivalenceFigure(equivalence);
  const figures = [
    ...(comparisons.length > 0 ? [{ title: "improvement", svg: improvementSummary(comparisons) }] : []),
    ...(areMany(comparisons) ? [] : comparisons).map((each) => ({
      title: `improvement ${each.first} over ${each.second}`,
      svg: improvementChart(each),
    })),
    ...(forest ? [{ title: "equivalence", svg: forest }] : []),
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
