/** A learning curve as text and as a page. */

import { figures, htmlPage, table as htmlTable, remark, section, percent as shown } from "../drawing/page.js";
import { lineChart } from "../drawing/plot.js";
import type { Gain, LearningCurve } from "../own-data/learning-curve.js";
import { table } from "./evaluation-text.js";

const percent = (share: number): string => (100 * share).toFixed(1);
const points = (share: number): string => `${share < 0 ? "-" : "+"}${percent(Math.abs(share))}`;
const gainText = ({ gain, error }: Gain): string => `${points(gain)} ± ${percent(error)}`;

/** The maximum number of listed classes. If there are more, those with the largest gains are listed. */
const MOST_CLASSES = 15;

interface CurveTable {
  readonly title: string;
  readonly words: string;
  readonly head: string[];
  readonly rows: string[][];
}

/** The tables of a curve for which there is data. */
function tablesOf({ by, sizes, sources, classes, newSource }: LearningCurve): CurveTable[] {
  const on = by === "validation" ? "validation pictures" : "held-out domains";
  const gained = classes.toSorted((a, b) => b.gain - a.gain).slice(0, MOST_CLASSES);
  const steps = [...new Set(newSource.flatMap((each) => each.points.map(({ perClass }) => perClass)))];
  return [
    {
      title: "More pictures of all kinds",
      words: `Accuracy on ${on}, in percent, with a share of the training pictures.`,
      head: ["share", "pictures", "accuracy"],
      rows: sizes.map(({ share, pictures, accuracy }) => [
        `${(100 * share).toFixed(1)} %`,
        String(pictures),
        percent(accuracy),
      ]),
    },
    {
      title: "Labelled pictures of the new source itself",
      words:
        "Each domain is taken as new, without its near-copies: accuracy on half of its pictures, in percent, with so many labelled pictures of each class from its other half.",
      head: ["new domain", ...steps.map((step) => `${step} a class`)],
      rows: newSource.map(({ domain, points: all }) => [
        domain,
        ...steps.map((step) => {
          const found = all.find(({ perClass }) => perClass === step);
          return found ? percent(found.accuracy) : "–";
        }),
      ]),
    },
    {
      title: "Another source",
      words: "What each source adds to the accuracy on the others, in points ± the standard error.",
      head: ["source", "adds"],
      rows: sources.map((each) => [each.domains.join(" + "), gainText(each)]),
    },
    {
      title: "More pictures of a class",
      words: `Recall on ${on}, in percent, and what the last doubling of its training pictures added, in points ± the standard error.`,
      head: ["class", "pictures", "recall", "last doubling"],
      rows: gained.map((each) => [each.name, String(each.pictures), percent(each.recall), gainText(each)]),
    },
  ].filter(({ rows }) => rows.length > 0);
}

/** The conclusion, in one or two sentences. */
export function curveWords({ doubling, newSource, sources, by }: LearningCurve): string[] {
  const { gain, error, next } = doubling;
  const first = newSource.flatMap(({ points: all }) => {
    const [none, ...more] = all;
    return more.length > 0 ? [{ gain: more.at(-1)!.accuracy - none.accuracy, perClass: more.at(-1)!.perClass }] : [];
  });
  const forecast =
    next === null
      ? "The doubling before it brought none, so there is no forecast for the next one."
      : `If the curve goes on as it has, the next one brings about ${points(next)}.`;
  const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;
  return [
    gain > 2 * error
      ? `The last doubling of the pictures brought ${gainText(doubling)} points. ${forecast}`
      : `The last doubling of the pictures brought ${gainText(doubling)} points: more pictures of the same kind are not likely to help.`,
    ...(first.length > 0
      ? [
          `Labelled pictures of the new source, ${Math.min(...first.map(({ perClass }) => perClass))} or more of each class, bring ${points(mean(first.map((each) => each.gain)))} points on average.`,
        ]
      : []),
    ...(sources.length > 0
      ? [`Another source brings ${points(mean(sources.map((each) => each.gain)))} points on average.`]
      : []),
    ...(by === "validation"
      ? ["No domain could be held out, so this is about pictures of the domains that are there, and not of new ones."]
      : []),
  ];
}

/** For the terminal. */
export function curveText(curve: LearningCurve): string {
  const parts = tablesOf(curve).map(({ title, words, head, rows }) => `${title}\n${words}\n${table(head, rows)}\n`);
  return `${parts.join("\n")}\n${curveWords(curve).join("\n")}\n`;
}

/** As a page with charts. */
export function curveHtml(curve: LearningCurve, dataset: string): string {
  const chart = lineChart({
    title: "Accuracy and training pictures",
    xLabel: "training pictures",
    yLabel: "accuracy, %",
    logX: true,
    series: [
      { label: curve.by, points: curve.sizes.map(({ pictures, accuracy }) => ({ x: pictures, y: 100 * accuracy })) },
    ],
  });
  return htmlPage({
    title: "What more pictures would bring",
    subtitle: `${dataset}: exact probes on frozen features, C = ${curve.c}; highest accuracy ${shown(curve.sizes.at(-1)!.accuracy)}`,
    parts: [
      section("In short", ...curveWords(curve).map(remark)),
      ...tablesOf(curve).map(({ title, words, head, rows }, i) =>
        section(title, remark(words), htmlTable(head, rows), i === 0 ? figures([chart]) : ""),
      ),
    ],
  });
}
