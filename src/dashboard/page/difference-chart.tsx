/**
 * The effect of a penalty by domain: one point per row with its interval, and a mark at zero, after the paper's Figure
 * 3.
 */

import type { JSX } from "preact";
import { makeAxis } from "../../drawing/axis.js";
import type { ComparisonData } from "../api.js";
import { lines, number, Table } from "./view.js";

/** The width of the drawing in its own units. It fills its column. */
const WIDTH = 400;

/** The chart of one comparison. */
export function DifferenceChart({ first, second, words, rows }: ComparisonData): JSX.Element {
  const ends = rows.flatMap(({ mean, interval }) => [mean, ...(interval ?? [])]);
  const axis = makeAxis([0, ...ends], 6, WIDTH - 6, { where: `${first} against ${second}`, count: 5 });
  const drawing = ({ whole, mean, interval }: ComparisonData["rows"][number]): JSX.Element => (
    <td class="drawing">
      <svg viewBox={`0 0 ${WIDTH} 20`} preserveAspectRatio="none" aria-hidden="true" class={whole ? "whole" : ""}>
        <line class="zero" x1={axis.at(0)} x2={axis.at(0)} y1={0} y2={20} />
        {interval && <line class="interval" x1={axis.at(interval[0])} x2={axis.at(interval[1])} y1={10} y2={10} />}
        <line class="mean" x1={axis.at(mean)} x2={axis.at(mean)} y1={4} y2={16} />
      </svg>
    </td>
  );
  const body = rows.map((row) => ({
    kind: row.whole ? "whole" : "",
    name: row.title,
    cells: [
      drawing(row),
      number(row.texts[0]),
      ...row.texts.slice(1).map((text) => number(text, "number soft")),
      number(row.trials, "number soft"),
    ],
  }));
  return (
    <section>
      <h2>{`${first} minus ${second}, pair by pair`}</h2>
      <div class="scroll">
        <Table
          kind="plain differences"
          head={["Held out", "", "Difference", "95 % interval", "p", "Holm", "Trials"]}
          rows={body}
        />
      </div>
      {lines(words, "soft words")}
    </section>
  );
}
