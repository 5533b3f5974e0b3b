/** `nudge parity`: compares an algorithm of this project or of a plug-in with a parity file. */

import { Command } from "commander";
import { closestName } from "../closest-name.js";
import { groupBy } from "../group-by.js";
import type { blindSpots } from "../porting/blind-spots.js";
import type { CaseDifferences } from "../porting/replay.js";
import { table } from "../report/evaluation-text.js";
import type { Write } from "./model-options.js";
import { realNumber } from "./parse-options.js";

interface ParityFlags {
  tolerance: number;
  case?: string[];
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge parity iga.safetensors
  nudge parity --plugin ./mine.mjs my-method.safetensors --tolerance 1e-6

A parity file records what a PyTorch implementation did in a few updates:
states, minibatches, random draws, the states after a number of updates, and
predictions. scripts/porting/record_parity.py records such a file from an
algorithm written in DomainBed's style; docs/porting.md describes the format.
Everything is computed in float64 on the CPU. The relative difference is the
norm of the difference between the two final states, divided by the norm of the
reference's total update. Exit code 1: a relative difference, a logged number or
a logit differs by more than the tolerance.`;

/** The command. `write` receives its output. */
export function parityCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("parity")
    .description(
      "Repeats the updates recorded in parity files and prints how much the results differ from the recorded ones.",
    )
    .argument("<file...>", "parity files")
    .option(
      "--tolerance <number>",
      "the largest difference that is accepted",
      realNumber("--tolerance", { least: 0 }),
      1e-9,
    )
    .option("--case <name...>", "run only these cases")
    .option("--json", "print the differences as JSON")
    .addHelpText("after", EXAMPLES)
    .action((files: string[], flags: ParityFlags) => parity(files, flags, write));
}

async function parity(files: readonly string[], flags: ParityFlags, write: Write): Promise<void> {
  const [{ readParityFile }, { replayCase }] = [
    await import("../porting/parity-file.js"),
    await import("../porting/replay.js"),
  ];
  const { UsageError } = await import("../errors.js");
  const { blindSpots, labelsOf } = await import("../porting/blind-spots.js");
  const replayed: (CaseDifferences & Recorded)[] = [];
  for (const path of files) {
    const file = readParityFile(path);
    const known = Object.keys(file.cases);
    const unknown = flags.case?.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new UsageError(`${path}: ${unknownCase(unknown, known)}`);
    for (const name of flags.case ?? known) {
      const recorded = { about: file.cases[name], labels: labelsOf(file, name) };
      replayed.push({ file: path, source: file.source, recorded, ...replayCase(file, name) });
    }
  }
  const byAlgorithm = groupBy(replayed, ({ algorithm }) => algorithm);
  const unseen = new Map(
    Array.from(byAlgorithm, ([algorithm, own]) => [algorithm, blindSpots(own.map(({ recorded }) => recorded))]),
  );
  const results = replayed.map(({ recorded: _, ...each }) => ({ ...each, unseen: unseen.get(each.algorithm)! }));
  const failed = results.filter((each) => !(largestOf(each) <= flags.tolerance));
  write(flags.json ? `${JSON.stringify(results, null, 2)}\n` : text(results, failed, flags.tolerance));
  if (failed.length > 0) process.exitCode = 1;
}

/** Where a case was recorded, and its minibatches. */
interface Recorded {
  readonly file: string;
  readonly source: string;
  readonly recorded: Parameters<typeof blindSpots>[0][number];
}

/** The error for an unknown case. Names are in quotation marks, because they can contain commas. */
function unknownCase(name: string, known: readonly string[]): string {
  const near = closestName(name, known);
  return `unknown case "${name}"${near ? `: did you mean "${near}"?` : ""} (known: ${known.map((each) => `"${each}"`).join(", ")})`;
}

/** The values that are compared with the tolerance. */
function largestOf({ states, logs, predictions }: CaseDifferences): number {
  return Math.max(...states.map(({ relative }) => relative), logs?.largest ?? 0, predictions ?? 0);
}

function text(
  results: readonly (CaseDifferences & { readonly source: string; readonly unseen: readonly string[] })[],
  failed: readonly CaseDifferences[],
  tolerance: number,
): string {
  const number = (value: number): string => (value === 0 ? "0" : value.toExponential(1));
  const rows = results.flatMap(({ name, algorithm, states, logs, predictions }) =>
    states.map(({ updates, relative, largest, worst }, i) => {
      const isLast = i === states.length - 1;
      return [
        ...[i === 0 ? name : "", i === 0 ? algorithm : "", String(updates), number(relative), number(largest), worst],
        isLast && logs ? number(logs.largest) : "",
        isLast && predictions !== null ? number(predictions) : "",
      ];
    }),
  );
  const head = ["case", "algorithm", "updates", "relative", "largest", "in", "logs", "logits"];
  const sources = [...new Set(results.map(({ source }) => source))].join("; ");
  const verdict =
    failed.length === 0
      ? results.length === 1
        ? `The case is within ${tolerance}.`
        : `All ${results.length} cases are within ${tolerance}.`
      : `${failed.length} of ${results.length} cases differ by more than ${tolerance}: ${failed.map(({ name }) => name).join(", ")}.`;
  return `Recorded from ${sources}.\n\n${table(head, rows)}\n\n${verdict}\n${unseenText(results)}`;
}

/** What the minibatches cannot show, with the algorithms of which it is true. */
function unseenText(results: readonly { readonly algorithm: string; readonly unseen: readonly string[] }[]): string {
  const all = new Set(results.map(({ algorithm }) => algorithm));
  const spots = new Map<string, Set<string>>();
  for (const { algorithm, unseen } of results)
    for (const spot of unseen) spots.set(spot, (spots.get(spot) ?? new Set()).add(algorithm));
  const lines = Array.from(spots, ([spot, of]) => `- ${of.size < all.size ? `${[...of].join(", ")}: ` : ""}${spot}\n`);
  return `\nWhat these cases cannot show:\n${lines.join("")}`;
}
