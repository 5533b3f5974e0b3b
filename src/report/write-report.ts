/**
 * Writes the files of a report: each format under its name, the figures, and DomainBed's: its tables, and our runs as
 * `results.jsonl`.
 */

import { basename, dirname, join, relative, resolve } from "node:path";
import { writeFigure } from "../drawing/write-figure.js";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";
import { CURRENT, methodKey, toDomainBed } from "../records/index.js";
import { toCsv } from "./csv.js";
import { domainBedHparams, domainBedNames, toDomainBedTables } from "./domainbed-names.js";
import { reportFigures } from "./figures.js";
import { toHtml } from "./html.js";
import { toJson } from "./json.js";
import { toLatex } from "./latex.js";
import { toMarkdown } from "./markdown.js";
import type { Report } from "./report.js";

interface Format {
  readonly file: string;
  text(report: Report): string;
}

const formats = {
  md: { file: "report.md", text: toMarkdown },
  latex: { file: "report.tex", text: toLatex },
  csv: { file: "report.csv", text: toCsv },
  json: { file: "report.json", text: toJson },
  html: { file: "report.html", text: toHtml },
  domainbed: { file: "results.txt", text: ({ outcome }: Report) => toDomainBedTables(outcome) },
} satisfies Record<string, Format>;

export type ReportFormat = keyof typeof formats;

/** The names of the formats. */
export const reportFormats = Object.keys(formats) as ReportFormat[];

/** Formats a report. */
export const reportText = (report: Report, format: ReportFormat): string => formats[format].text(report);

/** Writes a report in some formats into a folder; returns the files' names. */
export function writeReport(report: Report, folder: string, wanted: readonly ReportFormat[]): string[] {
  return wanted.map((format) => {
    const path = join(folder, formats[format].file);
    writeText(path, reportText(report, format));
    return path;
  });
}

/** Writes the figures of a report into a folder, each as SVG and PNG; returns their names without extension. */
export async function writeReportFigures(report: Report, folder: string): Promise<string[]> {
  const figures = reportFigures(report);
  for (const { name, svg } of figures) await writeFigure(svg, join(folder, name));
  return figures.map(({ name }) => name);
}

/**
 * Writes every run of ours in the format of DomainBed's collector, one folder with `results.jsonl` per run and model;
 * returns the file names. It refuses a folder that was read: the next report would count every run twice.
 */
export function writeDomainBedRuns({ outcome }: Report, folder: string, read: readonly string[]): string[] {
  const inside = read.find((each) => !relative(resolve(each), resolve(folder)).startsWith(".."));
  if (inside !== undefined)
    throw new UsageError(
      `writing runs in DomainBed's format to ${folder}: this is inside ${inside}, where the next report would count them as additional runs. Choose another --out`,
    );
  const names = domainBedNames(outcome);
  const taken = new Map<string, number>();
  return outcome.runs.flatMap((run) => {
    const stored = outcome.storedOf(run);
    if (!stored) return [];
    const { model } = run.method;
    const name = basename(stored.folder) + (model === CURRENT ? "" : `-${model}`);
    const count = (taken.get(name) ?? 0) + 1; // run folders in different places can have the same name
    taken.set(name, count);
    const path = join(folder, "domainbed", count === 1 ? name : `${name}-${count}`, "results.jsonl");
    const algorithm = names.get(methodKey(run.method));
    writeText(path, toDomainBed(stored, { model, algorithm, hparams: domainBedHparams(stored.settings) }));
    return [path];
  });
}

function writeText(path: string, text: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw new DataError(
      `writing the report: its folder ${dirname(path)} could not be created: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
  replaceFile(path, (write) => write(Buffer.from(text)));
}
