/** Predictions as rows: a table for people, CSV for spreadsheets, JSON lines for programs. Rows are made one at a time. */

import { showName } from "../data/show-name.js";
import type { Model, Prediction } from "../model/index.js";
import { csvField } from "../report/csv.js";

interface Printed {
  readonly pictures: readonly string[];
  readonly model: Model;
  readonly top: number;
}

interface Rows {
  readonly head: string;
  row(picture: string, prediction: Prediction): string;
  problem(picture: string, why: string): string;
  readonly foot: string;
}

/** By their names on the command line. */
export const predictionFormats = { table, csv, jsonl } as const satisfies Record<string, (printed: Printed) => Rows>;

/** Rounded down, so that no picture is called farther than all others that is not. */
const percent = (share: number): string => (Math.floor(1000 * share) / 10).toFixed(1);

/** The widest a picture's name makes the table. */
const WIDEST = 60;

function table({ pictures, model, top }: Printed): Rows {
  const width = Math.min(WIDEST, Math.max(7, ...pictures.map((path) => showName(path).length)));
  const classWidth = Math.max(5, ...model.classes.map((name) => showName(name).length));
  const answerWidth = Math.min(top, model.classes.length) * (classWidth + 9) - 2;
  const has = model.distanceStatistics !== null;
  const nearest = Math.max(7, ...model.about.domains.map((name) => showName(name).length));
  const line = (picture: string, answer: string, rest: readonly string[]): string =>
    `${[picture.padEnd(width), answer.padEnd(answerWidth), ...rest].join("  ").trimEnd()}\n`;
  return {
    head: line("picture", "class", has ? ["distance", "farther", "nearest domain"] : []),
    row: (picture, { top: classes, distance }) => {
      const answers = classes.map(
        ({ label, probability }) =>
          `${showName(label).padEnd(classWidth)} ${(100 * probability).toFixed(1).padStart(5)}%`,
      );
      const far = distance
        ? [
            distance.score.toFixed(2).padStart(8),
            `${percent(distance.fartherThan)}%`.padStart(7),
            showName(distance.nearest).padEnd(nearest),
          ]
        : [];
      return line(showName(picture), answers.join("  "), far);
    },
    problem: (picture) => line(showName(picture), "could not be read", []),
    foot: has
      ? "farther: held-back training pictures that lie nearer; towards 100 % the model has seen nothing like it\n"
      : "(this model file has no score of distance: it is of an earlier version, or of too few pictures)\n",
  };
}

function csv({ model, top }: Printed): Rows {
  const count = Math.min(top, model.classes.length);
  const answers = Array.from({ length: count }, (_, i) =>
    i === 0 ? ["class", "probability"] : [`class_${i + 1}`, `probability_${i + 1}`],
  );
  const row = (cells: readonly (string | number)[]): string => `${cells.map(String).map(csvField).join(",")}\r\n`;
  return {
    head: row(["picture", ...answers.flat(), "distance", "farther_than", "nearest_domain", "problem"]),
    row: (picture, { top: classes, distance }) =>
      row([
        picture,
        ...classes.flatMap(({ label, probability }) => [label, probability]),
        ...(distance ? [distance.score, distance.fartherThan, distance.nearest] : ["", "", ""]),
        "",
      ]),
    problem: (picture, why) => row([picture, ...new Array(2 * count + 3).fill(""), why]),
    foot: "",
  };
}

function jsonl(): Rows {
  const row = (value: object): string => `${JSON.stringify(value)}\n`;
  return {
    head: "",
    row: (picture, { label, probability, top, distance }) => row({ picture, class: label, probability, top, distance }),
    problem: (picture, problem) => row({ picture, problem }),
    foot: "",
  };
}
