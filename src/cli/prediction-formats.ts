/**
 * Predictions as rows: a table for people, CSV for spreadsheets, JSON lines for programs. Rows are formatted one at a
 * time.
 */

import { showName } from "../data/show-name.js";
import type { Model, Prediction } from "../model/index.js";
import { percentileText } from "../model/percentile-text.js";
import type { Unknown } from "../model/unknown.js";
import { csvField } from "../report/csv.js";

interface Printed {
  readonly pictures: readonly string[];
  readonly model: Model;
  readonly top: number;
}

/** A prediction, and the reason why its picture is marked as unknown. */
export interface MarkedPrediction extends Prediction {
  readonly unknown: Unknown | null;
}

interface Rows {
  readonly head: string;
  row(picture: string, prediction: MarkedPrediction): string;
  problem(picture: string, why: string): string;
  readonly foot: string;
}

/** By their names on the command line. */
export const predictionFormats = { table, csv, jsonl } as const satisfies Record<string, (printed: Printed) => Rows>;

/** The largest width of the column of picture names. */
const WIDEST = 60;

function table({ pictures, model, top }: Printed): Rows {
  const width = Math.min(
    WIDEST,
    pictures.reduce((most, path) => Math.max(most, showName(path).length), 7),
  );
  const classWidth = Math.max(5, ...model.classes.map((name) => showName(name).length));
  const answerWidth = Math.min(top, model.classes.length) * (classWidth + 9) - 2;
  const has = model.distanceStatistics !== null;
  const nearest = Math.max(14, ...model.about.domains.map((name) => showName(name).length));
  const line = (picture: string, answer: string, rest: readonly string[]): string =>
    `${[picture.padEnd(width), answer.padEnd(answerWidth), ...rest].join("  ").trimEnd()}\n`;
  return {
    head: line("picture", "class", [
      ...(has ? ["distance percentile", "nearest domain".padEnd(nearest)] : []),
      "unknown",
    ]),
    row: (picture, { top: classes, distance, unknown }) => {
      const answers = classes.map(
        ({ label, probability }) =>
          `${showName(label).padEnd(classWidth)} ${(100 * probability).toFixed(1).padStart(5)}%`,
      );
      const far = distance
        ? [percentileText(distance.percentile).padStart(19), showName(distance.nearest).padEnd(nearest)]
        : [];
      return line(showName(picture), answers.join("  "), [...far, unknown ?? ""]);
    },
    problem: (picture) => line(showName(picture), "could not be read", []),
    foot: has
      ? "distance percentile: the percentage of validation pictures that are nearer to the training pictures; 100 means unlike all of them\n"
      : "(this model file has no distance score: it was written by an earlier version, or there were too few pictures)\n",
  };
}

function csv({ model, top }: Printed): Rows {
  const count = Math.min(top, model.classes.length);
  const answers = Array.from({ length: count }, (_, i) =>
    i === 0 ? ["class", "probability"] : [`class_${i + 1}`, `probability_${i + 1}`],
  );
  const row = (cells: readonly (string | number)[]): string => `${cells.map(String).map(csvField).join(",")}\r\n`;
  const rest = ["unknown", "distance", "distance_percentile", "nearest_domain", "truncated", "problem"];
  return {
    head: row(["picture", ...answers.flat(), ...rest]),
    row: (picture, { top: classes, distance, unknown, truncated }) =>
      row([
        picture,
        ...classes.flatMap(({ label, probability }) => [label, probability]),
        unknown ?? "",
        ...(distance ? [distance.score, distance.percentile, distance.nearest] : ["", "", ""]),
        truncated ? "true" : "",
        "",
      ]),
    problem: (picture, why) => row([picture, ...new Array(2 * count + rest.length - 1).fill(""), why]),
    foot: "",
  };
}

function jsonl(): Rows {
  const row = (value: object): string => `${JSON.stringify(value)}\n`;
  return {
    head: "",
    row: (picture, { label, probability, unknown, top, distance, truncated }) =>
      row({ picture, class: label, probability, unknown, top, distance, truncated }),
    problem: (picture, problem) => row({ picture, problem }),
    foot: "",
  };
}
