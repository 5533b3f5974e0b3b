/** `nudge weights`: published starting weights by name. Never loads the engine. */

import { Command } from "commander";
import { findWeights, locateWeights, MissingWeights, weightsFolder } from "../backbones/find-weights.js";
import { takeWeights } from "../backbones/get-weights.js";
import {
  fileOf,
  type PublishedWeights,
  publishedWeights,
  publishedWeightsNamed,
} from "../backbones/published-weights.js";
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { fetchWeights } from "./offer-weights.js";

type Write = (text: string) => void;

const sizeOf = ({ mebibytes }: PublishedWeights): string =>
  mebibytes === undefined ? "–" : byteText(mebibytes * 2 ** 20);

function namedOrRefused(name: string): PublishedWeights {
  const names = publishedWeights().map((weights) => weights.name);
  const found = publishedWeightsNamed(name);
  if (!found) throw new UsageError(unknownName("weights", name, names));
  return found;
}

function listText(): string {
  const rows = publishedWeights().map((weights) => [
    weights.name,
    weights.backbone,
    sizeOf(weights),
    weights.top1 === undefined ? "–" : weights.top1.toFixed(1),
    locateWeights(weights) ? "yes" : "no",
    `${weights.title}; ${weights.licence}`,
  ]);
  const all = [["name", "backbone", "size", "top-1 %", "here", "what it is; licence"], ...rows];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const lines = all.map((row) =>
    row
      .map((cell, i) => (i === 2 || i === 3 ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n\nAccuracy is on ImageNet-1k, as published. Get one with: nudge weights get NAME. Use it with: --weights NAME\n`;
}

function listCommand(write: Write): Command {
  return new Command("list")
    .description(
      "Lists the published weights that can be downloaded: size, accuracy, licence, and whether they are here.",
    )
    .option("--json", "print everything as JSON", false)
    .addHelpText("after", "\nExamples:\n  nudge weights list\n  nudge weights list --json")
    .action(({ json }: { json: boolean }) => {
      const facts = publishedWeights().map((weights) => ({
        ...weights,
        file: fileOf(weights),
        here: locateWeights(weights) ?? null,
      }));
      write(json ? `${JSON.stringify(facts, null, 2)}\n` : listText());
    });
}

function getCommand(write: Write): Command {
  return new Command("get")
    .description(
      "Downloads published weights to the folder for weights, and checks them by their SHA-256. An interrupted download resumes.",
    )
    .argument("<weights...>", "names of weights, as nudge weights list prints them")
    .option("--from <file>", "take them from this file instead of downloading them")
    .addHelpText(
      "after",
      `
Examples:
  nudge weights get resnet50
  nudge weights get resnet50 mobilenet_v2
  nudge weights get resnet50 --from /media/usb/resnet50-0676ba61.pth`,
    )
    .action(async (names: string[], { from }: { from?: string }) => {
      const wanted = names.map(namedOrRefused);
      if (from !== undefined && wanted.length > 1)
        throw new UsageError("--from is one file, so expected the name of one set of weights");
      for (const weights of wanted) {
        const path =
          from === undefined
            ? (locateWeights(weights) ?? (await fetchWeights(weights)))
            : (await takeWeights(weights, from)).path;
        write(`${path}\n`);
      }
    });
}

function whereCommand(write: Write): Command {
  return new Command("where")
    .description(
      "Prints the folder for weights; with a name, the file that would be used (exit code 1 where there is none).",
    )
    .argument("[weights]", "a backbone, or a name of weights")
    .addHelpText("after", "\nExamples:\n  nudge weights where\n  nudge weights where resnet50")
    .action((name?: string) => {
      if (name === undefined) return write(`${weightsFolder()}\n`);
      try {
        const published = publishedWeightsNamed(name);
        const variant = published !== undefined && published.name !== published.backbone;
        const path = variant ? locateWeights(published) : findWeights(name);
        if (path === undefined) throw new MissingWeights(published!);
        write(`${path}\n`);
      } catch (error) {
        if (!(error instanceof MissingWeights)) throw error;
        process.stderr.write(`nudge: ${error.message}\n`);
        process.exitCode = 1;
      }
    });
}

/** The command; `write` takes what it prints. */
export function weightsCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("weights")
    .description("Published starting weights by name: what there is, download, and where it is kept.")
    .addCommand(listCommand(write))
    .addCommand(getCommand(write))
    .addCommand(whereCommand(write))
    .addHelpText(
      "after",
      `
Examples:
  nudge weights list
  nudge weights get resnet50
  nudge weights get resnet50 --from resnet50-0676ba61.pth    from a file that was brought
  nudge weights where resnet50

Downloads use HTTPS_PROXY, HTTP_PROXY and NO_PROXY. NUDGE_WEIGHTS_MIRROR is an address that has the
files under their publishers' names. NUDGE_NO_DOWNLOAD=1 forbids all downloads. Weights are kept in
$NUDGE_WEIGHTS where that is a folder, else in ~/.cache/nudge/weights.`,
    );
}
