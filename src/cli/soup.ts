/** `nudge soup`: one model from the weights of several runs. */

import { Command } from "commander";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";
import { table } from "../report/evaluation-text.js";
import type { Soup } from "../training/soup.js";
import type { Write } from "./model-options.js";
import { oneOf } from "./parse-options.js";
import { checkFolder } from "./writable-place.js";

const kinds = ["greedy", "uniform"] as const;

interface SoupFlags {
  kind: (typeof kinds)[number];
  out: string;
  device?: string;
  quiet?: true;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge soup runs/1f… runs/2c… runs/9a… --out soup
  nudge soup runs/* --kind uniform --out soup
  nudge predict soup photo.jpg

Runs must have the same classes, backbone, starting weights and split. greedy takes
in a run where the mean with it is better on the validation pictures of the training
domains than the mean without; uniform takes all. Writes model.safetensors, a model
like any other, and soup.json. The held-out domain is shown and chooses nothing.`;

/** The command; `write` takes what it prints. */
export function soupCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("soup")
    .description("Averages the weights of several runs into one model, and compares it with each of them.")
    .argument("<run...>", "folders of runs")
    .option("--kind <kind>", "greedy or uniform", oneOf("kind", kinds), "greedy")
    .option("--out <dir>", "the folder to write to", "soup")
    .option("--device <device>", "cpu, cuda or cuda:1")
    .option("--quiet", "print nothing on the way")
    .option("--json", "print the outcome as JSON")
    .addHelpText("after", EXAMPLES)
    .action((runs: string[], flags: SoupFlags) => soup(runs, flags, write));
}

async function soup(
  runs: readonly string[],
  { kind, out, device, quiet, json }: SoupFlags,
  write: Write,
): Promise<void> {
  checkFolder(out);
  const { makeSoup, soupFile } = await import("../training/soup.js");
  makeFolder(out);
  const say = quiet ? undefined : (text: string) => void process.stderr.write(`${text}\n`);
  const made = await makeSoup(runs, { kind, out: soupFile(out), device, say });
  replaceFile(`${out}/soup.json`, (file) => file(Buffer.from(`${JSON.stringify(made, null, 2)}\n`)));
  write(json ? `${JSON.stringify(made, null, 2)}\n` : text(made, soupFile(out)));
}

function text({ kind, runs, soup: made, notes }: Soup, path: string): string {
  const percent = (share: number | null): string => (share === null ? "–" : (100 * share).toFixed(1));
  const rows = [...runs, { ...made, name: `soup (${kind})`, taken: true }].map(
    ({ name, validation, heldOut, taken }) => [name, percent(validation), percent(heldOut), taken ? "yes" : "no"],
  );
  const taken = runs.filter((run) => run.taken).length;
  return [
    table(["model", "validation, %", "held out, %", "taken"], rows),
    "",
    `The soup has ${taken} of ${runs.length} runs.`,
    ...notes.map((note) => `note: ${note}`),
    `wrote ${path}`,
    "",
  ].join("\n");
}
