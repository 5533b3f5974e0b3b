/**
 * `nudge data`: inspects folders of pictures, verifies benchmark copies and builds the pixel cache. Never loads the
 * engine.
 */
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
import { curveCommand } from "./data-curve.js";
import { getCommand } from "./data-get.js";
import { pickCommand } from "./data-pick.js";
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
  // As in nudge train, whose notes recommend data.layout=….
  const pairs = settings.map((pair) => pair.replace(/^data\./, ""));
  const dataset = await openDataset(path, { root, options: readPairs(pairs, DATASET_OPTIONS) });
  const inspection = await inspectDataset(dataset, { deep, progress: show });
  if (html !== undefined) {
    // Imported here, because the other ways to inspect a folder need no decoder.
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
    .summary("show what a folder contains and what is wrong with it")
    .description(
      "Shows what a folder (or manifest, or named dataset) contains: domains, classes, counts, sizes, formats, damaged or misnamed files, and duplicates.",
    )
    .argument("<dir>", "a folder of pictures, a benchmark's folder, a .csv or .jsonl manifest, or a dataset's name")
    .argument("[key=value...]", "options of the dataset, such as size=64 for shapes or layout=class for a folder")
    .option("--root <dir>", "the folder that contains the named dataset")
    .option("--html <file>", "write a page with a contact sheet of samples of each domain and class")
    .option("--deep", "decode every picture, to find all damaged files", false)
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
    .summary("compare a benchmark's copy with the published counts")
    .description(
      "Compares your copy of a benchmark with the published picture counts and lists each difference. The exit code is 1 if there are any.",
    )
    .argument("<name>", "the name of a benchmark (see nudge data get --list): pacs, vlcs, office-home, …")
    .argument("<dir>", "its folder, or a folder up to three levels above it")
    .option("--duplicates <file>", "for domain-net: the list of duplicates to exclude")
    .option("--json", "print everything as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge data verify pacs data/PACS
  nudge data verify domain-net data --duplicates domain_net_duplicates.txt`,
    )
    .action(async (name: string, dir: string, { json, ...options }: { json: boolean; duplicates?: string }) => {
      const verification = await verifyDataset(datasetNamed(name), dir, { ...options, pixels: true });
      write(json ? `${JSON.stringify(verification, null, 2)}\n` : verificationText(verification));
      if (!verification.agrees) process.exitCode = 1;
    });
}

/** The command. `write` receives its output. */
export function dataCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("data")
    .description("Downloads benchmarks, and inspects data before training.")
    .addCommand(getCommand(write))
    .addCommand(inspectCommand(write))
    .addCommand(reviewCommand(write))
    .addCommand(curveCommand(write))
    .addCommand(pickCommand(write))
    .addCommand(verifyCommand(write))
    .addCommand(cacheCommand(write))
    .addHelpText(
      "after",
      `
Examples:
  nudge data get pacs
  nudge data inspect ./pictures
  nudge data review ./pictures
  nudge data curve ./pictures
  nudge data verify pacs data/PACS
  nudge data cache ./pictures`,
    );
}
