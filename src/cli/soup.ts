/** `nudge soup`: averages the weights of several runs into one model. */

import { Command } from "commander";
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

The runs must have the same classes, backbone, initial weights and split. greedy
adds a run if the average with it is better on the validation pictures of the
training domains than the average without it; uniform averages all runs. The
command writes model.safetensors, which is used like any other model, and
soup.json. The accuracy on the held-out domain is shown but does not influence
the choice.`;

/** The command. `write` receives its output. */
export function soupCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("soup")
    .description("Averages the weights of several runs into one model, and compares it with each of them.")
    .argument("<run...>", "folders of runs")
    .option("--kind <kind>", "greedy or uniform", oneOf("kind", kinds), "greedy")
    .option("--out <dir>", "the folder to write to", "soup")
    .option("--device <device>", "cpu, cuda or cuda:1")
    .option("--quiet", "do not print progress")
    .option("--json", "print the result as JSON")
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
    table(["model", "validation, %", "held out, %", "in soup"], rows),
    "",
    `The soup averages ${taken} of ${runs.length} runs.`,
    ...notes.map((note) => `note: ${note}`),
    `wrote ${path}`,
    "",
  ].join("\n");
}
