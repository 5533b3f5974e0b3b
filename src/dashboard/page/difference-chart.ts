/** What a penalty adds, domain by domain: a point a row with its interval, and zero marked, after the paper's Figure 3. */

import { makeAxis } from "../../drawing/axis.js";
import type { ComparisonData } from "../api.js";
import { h, inWords, s } from "./dom.js";

/** Units of the drawing across: it is as wide as its column, whatever that is. */
const WIDTH = 400;

/** The chart of one comparison. */
export function differenceChart({ first, second, words, rows }: ComparisonData): HTMLElement {
  const ends = rows.flatMap(({ mean, interval }) => [mean, ...(interval ?? [])]);
  const axis = makeAxis([0, ...ends], 6, WIDTH - 6, { where: `${first} against ${second}`, count: 5 });
  const line = (className: string, x1: number, x2: number): SVGElement =>
    s("line", { class: className, x1, x2, y1: 10, y2: 10 });
  const drawing = ({ mean, interval, whole }: ComparisonData["rows"][number]): SVGElement =>
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} 20`, preserveAspectRatio: "none", "aria-hidden": "true", class: whole ? "whole" : "" },
      s("line", { class: "zero", x1: axis.at(0), x2: axis.at(0), y1: 0, y2: 20 }),
      ...(interval ? [line("interval", axis.at(interval[0]), axis.at(interval[1]))] : []),
      s("line", { class: "mean", x1: axis.at(mean), x2: axis.at(mean), y1: 4, y2: 16 }),
    );
  const body = rows.map((row) =>
    h(
      "tr",
      { class: row.whole ? "whole" : "" },
      h("th", { scope: "row" }, row.title),
      h("td", { class: "drawing" }, drawing(row)),
      h("td", { class: "number" }, signed(row.mean)),
      h(
        "td",
        { class: "number soft" },
        row.interval ? `${signed(row.interval[0])} to ${signed(row.interval[1])}` : "–",
      ),
      h("td", { class: "number soft" }, row.trials),
    ),
  );
  return h(
    "section",
    {},
    h("h2", {}, `${first} less ${second}, pair by pair`),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "plain differences" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["Held out", "", "Points", "95 % interval", "Trials"].map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        h("tbody", {}, ...body),
      ),
    ),
    ...words.map((line) => h("p", { class: "soft words" }, ...inWords(line))),
  );
}

const signed = (value: number): string => {
  const text = Math.abs(value).toFixed(1);
  return text === "0.0" ? text : `${value < 0 ? "−" : "+"}${text}`;
};
