/** `nudge data`: what a folder of pictures holds, and whether a benchmark's copy is whole, its pixels cached. Never loads the engine. */
import { writeFileSync } from "node:fs";
import { Command } from "commander";
import { datasetNamed } from "../data/datasets/index.js";
import { inspectDataset } from "../data/inspect.js";
import { inspectionText } from "../data/inspect-text.js";
import { openDataset } from "../data/open-dataset.js";
import { verificationText, verifyDataset } from "../data/verify.js";
import { DataError } from "../errors.js";
import { DATASET_OPTIONS, readPairs } from "../settings/read-request.js";
import { cacheCommand } from "./data-cache.js";
import { getCommand } from "./data-get.js";
import { reviewCommand } from "./data-review.js";
import { terminalLine } from "./terminal-line.js";
import { checkFile } from "./writable-place.js";

type Write = (text: string) => void;

interface InspectOptions {
  root?: string;
  json: boolean;
  html?: string;
  deep: boolean;
}

async function inspect(
  path: string,
  settings: readonly string[],
  { root, json, html, deep }: InspectOptions,
  write: Write,
): Promise<void> {
  if (html !== undefined) checkFile(html, "--html");
  const line = terminalLine();
  const show = (what: string, done: number, total: number): void => line.show(`${what}: ${done} of ${total}`);
  const dataset = await openDataset(path, { root, options: readPairs(settings, DATASET_OPTIONS) });
  const inspection = await inspectDataset(dataset, { deep, progress: show });
  if (html !== undefined) {
    // Loaded here, because the other ways to look at a folder need no decoder.
    const { contactSheet, isVisible } = await import("../data/inspect-thumbnails.js");
    const { inspectionHtml } = await import("../data/inspect-html.js");
    const sheet = isVisible(dataset)
      ? await contactSheet(dataset, (done, total) => show("making thumbnails", done, total))
      : null;
    try {
      writeFileSync(html, inspectionHtml(inspection, sheet));
    } catch (cause) {
      throw new DataError(`writing the page ${html}: ${(cause as Error).message}`, { cause });
    }
  }
  line.clear();
  if (json) write(`${JSON.stringify(inspection, null, 2)}\n`);
  else write(`${inspectionText(inspection)}${html === undefined ? "" : `\npage: ${html}\n`}`);
}

function inspectCommand(write: Write): Command {
  return new Command("inspect")
    .summary("what a folder holds, and what is wrong with it")
    .description(
      "Tells what a folder (or manifest, or named dataset) holds: domains, classes, counts, sizes, formats, damaged or misnamed files, duplicates.",
    )
    .argument("<dir>", "a folder of pictures, a benchmark's folder, a .csv or .jsonl manifest, or a dataset's name")
    .argument("[key=value...]", "options of the dataset, such as size=64 for shapes or layout=class for a folder")
    .option("--root <dir>", "the folder a named dataset lies in")
    .option("--html <file>", "write a page with a contact sheet of samples of each domain and class")
    .option("--deep", "decode every picture, to find those that only look whole", false)
    .option("--json", "print everything as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge data inspect ./pictures
  nudge data review ./pictures
  nudge data inspect ./pictures --deep --html pictures.html
  nudge data inspect pacs --root data
  nudge data inspect shapes size=32`,
    )
    .action((path: string, settings: string[], options: InspectOptions) => inspect(path, settings, options, write));
}

function verifyCommand(write: Write): Command {
  return new Command("verify")
    .summary("a benchmark's copy against the published counts")
    .description("Checks a benchmark's copy against the published counts and names each difference; exits with 1 then.")
    .argument("<name>", "a benchmark, as nudge data get --list names them: pacs, vlcs, office-home, …")
    .argument("<dir>", "its folder, or one up to three levels above it")
    .option("--duplicates <file>", "for domain-net: the list of duplicates to leave out")
    .option("--json", "print everything as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge data verify pacs data/PACS
  nudge data verify domain-net data --duplicates domain_net_duplicates.txt`,
    )
    .action(async (name: string, dir: string, { json, ...options }: { json: boolean; duplicates?: string }) => {
      const verification = await verifyDataset(datasetNamed(name), dir, options);
      write(json ? `${JSON.stringify(verification, null, 2)}\n` : verificationText(verification));
      if (!verification.agrees) process.exitCode = 1;
    });
}

/** The command; `write` takes what it prints. */
export function dataCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("data")
    .description("Gets benchmarks, and looks at data before training does.")
    .addCommand(getCommand(write))
    .addCommand(inspectCommand(write))
    .addCommand(reviewCommand(write))
    .addCommand(verifyCommand(write))
    .addCommand(cacheCommand(write))
    .addHelpText(
      "after",
      `
Examples:
  nudge data get pacs
  nudge data inspect ./pictures
  nudge data review ./pictures
  nudge data verify pacs data/PACS
  nudge data cache ./pictures`,
    );
}
