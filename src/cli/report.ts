/** `nudge report`: prints tables from runs on disk. Never loads the engine. */

import { join } from "node:path";
import { Command } from "commander";
import { DataError, UsageError } from "../errors.js";
import { shellWord } from "../files/shell-words.js";
import { referenceDataset } from "../records/domainbed-names.js";
import type { Report, ReportFormat } from "../report/index.js";
import { selectionNamed, selections } from "../selection/index.js";
import { oneOf, realNumber, someOf } from "./parse-options.js";
import { checkFolder } from "./writable-place.js";

type Write = (text: string) => void;

interface ReportFlags {
  selection: string;
  format?: string;
  out?: string;
  published?: true;
  claims?: true;
  features?: true;
  chosen?: true;
  influence?: true;
  choose?: true;
  coverage?: true;
  curves?: string;
  compare?: [string, string][];
  against?: string;
  equivalence?: number;
  only?: string;
  json?: true;
}

/** The command. `write` receives its output. */
export function reportCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("report")
    .description(
      "Reads folders of runs (of NUDGE, DomainBed, SWAD or MIRO) and prints accuracy tables with a description of the model selection method, paired differences between methods, a comparison of penalty weights if there are several, and on request the numbers and claims of the paper. For your own pictures, it prints the accuracy of each model on each held-out domain, with its uncertainty, and which model to use.",
    )
    .argument(
      "<dirs...>",
      "folders of runs, run folders, sweep folders (which may still be running), or packed studies",
    )
    .option(
      "--selection <rule>",
      `the model selection method: ${Object.keys(selections).join(", ")}`,
      "training-domain",
    )
    .option(
      "--format <format>",
      "md, latex, csv, json, html, domainbed (the same text as DomainBed's collect_results) or figures (default: md)",
    )
    .option(
      "--out <dir>",
      "write all formats to this folder: report.md, .tex, .csv, .json, .html, results.txt and figures/ (SVG and PNG); with --format, write only that one (domainbed also writes the runs as results.jsonl files)",
    )
    .option("--published", "show the paper's numbers below ours, with the difference and the source")
    .option("--claims", "check each claim of the paper against its own numbers and against these runs")
    .option("--features", "also show norms and ranks of the features at the selected step (md and json)")
    .option(
      "--chosen",
      "also show the best hyperparameters of each method on each dataset, and the run, step, draw and accuracies behind every cell and trial",
    )
    .option(
      "--choose",
      "also show a row with the method of the highest validation accuracy in each cell and trial, and how often each was chosen: what validation chooses, and not hindsight",
    )
    .option(
      "--influence",
      "also show how each searched hyperparameter affects validation and test accuracy, as a table and a figure",
    )
    .option(
      "--coverage",
      "also show how often the printed intervals contain the true value at 3, 5 and 10 trials, by resampling the residuals of these runs",
    )
    .option(
      "--curves <methods>",
      "the methods whose training curves are drawn (comma-separated; default: all, with one panel each if there are more than six)",
    )
    .option(
      "--compare <a,b>",
      "two methods to compare pair by pair; can be repeated (default: each method with its penalty and without)",
      (text: string, pairs: [string, string][] = []) => [...pairs, twoNames(text)],
    )
    .option(
      "--against <method>",
      "compare every other method with this one, pair by pair; more than four share one table",
    )
    .option(
      "--equivalence <points>",
      "test whether the compared methods differ from each other, and whether they differ by less than this many points of accuracy (two one-sided tests), over the second half of training and at the selected steps; with a figure of the intervals",
      realNumber("--equivalence", { above: 0, most: 100 }),
    )
    .option(
      "--only <parts>",
      "show only these parts (comma-separated): tables, pairs (paired differences), claims, weights (accuracy, size and rank of the features against the weight of penalties), features, curves, chosen, influence, coverage",
    )
    .option("--json", "print everything as JSON, same as --format json")
    .addHelpText(
      "after",
      `
Examples:
  nudge report runs                                     tables and paired differences
  nudge report runs --out report --claims --published   write all files, with the paper's numbers
  nudge report runs --compare SWAD-NU,SWAD --json
  nudge report sweeps/table1 --against ERM              every method against ERM
  nudge report sweeps/recipes --choose --against ERM    also the method that validation chooses
  nudge report sweeps/study --against ERM --equivalence 0.5   are they within half a point of ERM?
  nudge report sweeps/study --compare ERM-NU,ERM --compare ERM-FRO,ERM-NU --equivalence 0.5
  nudge report sweeps/weights --only weights            each weight of a penalty against none
  nudge report study.nudge runs                         a packed study and runs in one table
  nudge report ../DomainBed/sweep runs                  DomainBed's results and ours in one table`,
    )
    .action((dirs: string[], flags: ReportFlags) => report(dirs, flags, write));
}

/** Figures can only be written to files; every other format is text. */
const FIGURES = "figures";

async function report(dirs: readonly string[], flags: ReportFlags, write: Write): Promise<void> {
  const selection = selectionNamed(flags.selection);
  const { makeReport, reportFormats, reportParts, reportText, sweepWords } = await import("../report/index.js");
  if (flags.json && (flags.format ?? "json") !== "json")
    throw new UsageError(`--json and --format ${flags.format}: use only one of them`);
  const named = flags.json ? "json" : flags.format;
  const format = named === undefined ? undefined : oneOf("format", [...reportFormats, FIGURES] as const)(named);
  if (format === FIGURES && flags.out === undefined)
    throw new UsageError("--format figures: figures are files; choose a folder with --out");
  const { compare } = flags;
  if (compare && flags.against !== undefined) throw new UsageError("--compare and --against: use only one of them");
  const only = flags.only === undefined ? undefined : someOf("part of a report", reportParts)(flags.only);
  if (flags.out !== undefined) checkFolder(flags.out);
  const { readResults } = await import("../report/read-results.js");
  const results = readResults(dirs);
  if (results.runs.length === 0) {
    const sweeps = results.sweeps ?? [];
    const notes = [...results.notes, ...sweeps.flatMap((sweep) => sweepWords(sweep, results.stored) ?? [])];
    const next =
      sweeps.length > 0
        ? []
        : [`Train with: nudge train --data shapes --test-domain outlined --steps 300 --out ${shellWord(dirs[0])}`];
    throw new DataError(
      `${dirs.join(", ")}: no runs to report on:\n${[...notes, ...next].map((line) => `  ${line}`).join("\n")}`,
    );
  }
  const made = makeReport(results, {
    selection,
    published: flags.published,
    claims: flags.claims,
    features: flags.features,
    chosen: flags.chosen,
    choose: flags.choose,
    influence: flags.influence,
    coverage: flags.coverage,
    ...(flags.curves !== undefined && { curves: methodNames(flags.curves) }),
    compare,
    against: flags.against,
    ...(flags.equivalence !== undefined && { equivalence: flags.equivalence / 100 }),
    only,
  });
  const { tables, comparisons, claims, weights, features, best, influence, coverage } = made;
  const parts = [tables, comparisons, claims, weights, features, best, influence, coverage];
  if (only && made.curves.length === 0 && !made.equivalence && parts.every(({ length }) => length === 0))
    throw new DataError(
      `--only ${flags.only}: ${dirs.join(", ")} has no runs for this part${only.includes("influence") ? ": influence needs a search, that is, several draws of hyperparameters" : ""}${only.includes("coverage") ? ": coverage needs six methods or more with every domain and trial" : ""}${only.includes("weights") ? ": weights needs one penalty with two or more weights, on the same held-out domains and a common trial" : ""}`,
    );
  if (format === "domainbed") tellUnknown(made);
  if (flags.out !== undefined) {
    const lines = await writeFiles(made, { out: flags.out, format, dirs });
    if (!format) write(`${reportText(made, "md")}\n`);
    write(lines.map((line) => `wrote ${line}\n`).join(""));
  } else if (format !== FIGURES) write(reportText(made, format ?? "md"));
}

/** DomainBed's tables contain only its own datasets; without this note they would be empty without an explanation. */
function tellUnknown({ outcome }: Report): void {
  const unknown = outcome.datasets.filter((dataset) => !referenceDataset(dataset));
  if (unknown.length > 0)
    process.stderr.write(
      `nudge: DomainBed has no dataset ${unknown.join(", ")}, so its tables do not include ${unknown.length === 1 ? "it" : "them"}; --format md does\n`,
    );
}

/** Writes one format or all of them, and returns the names of the files as text. */
async function writeFiles(
  made: Report,
  { out, format, dirs }: { out: string; format?: ReportFormat | typeof FIGURES; dirs: readonly string[] },
): Promise<string[]> {
  const { reportFormats, writeDomainBedRuns, writeReport, writeReportFigures } = await import("../report/index.js");
  const texts = format === undefined ? reportFormats : format === FIGURES ? [] : [format];
  const files = writeReport(made, out, texts);
  const runs = format === "domainbed" ? writeDomainBedRuns(made, out, dirs) : [];
  if (runs.length > 0) files.push(`${runs.length} runs as DomainBed's results.jsonl, the first ${runs[0]}`);
  if (format !== undefined && format !== FIGURES) return files;
  const folder = join(out, FIGURES);
  const names = await writeReportFigures(made, folder);
  return names.length === 0 ? files : [...files, `${folder}: ${names.join(", ")} (SVG and PNG)`];
}

/** Comma-separated names. A comma inside brackets is part of a name. */
const methodNames = (text: string): string[] => text.split(/,(?![^[]*\])/).map((name) => name.trim());

function twoNames(text: string): [string, string] {
  const names = methodNames(text);
  if (names.length !== 2 || names.includes(""))
    throw new UsageError(
      `--compare: expected two methods with a comma between them, such as ERM-NU,ERM, got "${text}"`,
    );
  return [names[0], names[1]];
}
