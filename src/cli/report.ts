/** `nudge report`: runs on disk to tables. Never loads the engine. */

import { Command } from "commander";
import { DataError, UsageError } from "../errors.js";
import type { ReportFormat } from "../report/index.js";
import { selectionNamed, selections } from "../selection/index.js";
import { oneOf } from "./parse-options.js";

type Write = (text: string) => void;

interface ReportFlags {
  selection: string;
  format?: string;
  out?: string;
  published?: true;
  claims?: true;
  compare?: string;
}

/** The command; `write` takes what it prints. */
export function reportCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("report")
    .description(
      "Reads folders of runs (ours, DomainBed's, SWAD's or MIRO's) and prints accuracy tables with the selection rule in words, paired differences between methods, and on request the paper's numbers and claims.",
    )
    .argument("<dirs...>", "folders of runs, or runs")
    .option("--selection <rule>", `how models are chosen: ${Object.keys(selections).join(", ")}`, "training-domain")
    .option(
      "--format <format>",
      "md, latex, csv, json, html or domainbed (the text its own collector prints) (default: md)",
    )
    .option(
      "--out <dir>",
      "write files: report.md, .tex, .csv, .json, .html and results.txt; or one --format only, where domainbed also writes our runs as its results.jsonl",
    )
    .option("--published", "put the paper's numbers under ours, with the difference and the source")
    .option("--claims", "judge each claim of the paper on its numbers and on these runs")
    .option(
      "--compare <a,b>",
      "the two methods to compare pair by pair (default: each with its penalty against without)",
    )
    .action((dirs: string[], flags: ReportFlags) => report(dirs, flags, write));
}

async function report(dirs: readonly string[], flags: ReportFlags, write: Write): Promise<void> {
  const selection = selectionNamed(flags.selection);
  const { makeReport, reportFormats, reportText, writeDomainBedRuns, writeReport } = await import("../report/index.js");
  const format: ReportFormat | undefined =
    flags.format === undefined ? undefined : oneOf("format", reportFormats)(flags.format);
  const compare = flags.compare === undefined ? undefined : twoNames(flags.compare);
  const { readResults } = await import("../records/index.js");
  const results = readResults(dirs);
  if (results.runs.length === 0)
    throw new DataError(
      `${dirs.join(", ")}: nothing to report on:\n${results.notes.map((note) => `  ${note}`).join("\n")}\n  Train with: nudge train --out ${dirs[0]}`,
    );
  const made = makeReport(results, { selection, published: flags.published, claims: flags.claims, compare });
  if (flags.out !== undefined) {
    const files = writeReport(made, flags.out, format ? [format] : reportFormats);
    const runs = format === "domainbed" ? writeDomainBedRuns(made, flags.out, dirs) : [];
    if (!format)
      write(`${reportText(made, "md")}
`);
    for (const file of files)
      write(`wrote ${file}
`);
    if (runs.length > 0)
      write(`wrote ${runs.length} runs as DomainBed's results.jsonl, the first ${runs[0]}
`);
    return;
  }
  write(reportText(made, format ?? "md"));
}

function twoNames(text: string): [string, string] {
  const names = text.split(",").map((name) => name.trim());
  if (names.length !== 2 || names.includes(""))
    throw new UsageError(
      `--compare: expected two methods with a comma between them, such as ERM-NU,ERM, got "${text}"`,
    );
  return [names[0], names[1]];
}
