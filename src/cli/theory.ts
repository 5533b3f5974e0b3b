/** `nudge theory`: Section 4 of the paper at a setting, every statement checked. Loads no engine. */

import { Command } from "commander";
import { UsageError } from "../errors.js";
import type { TheoryOptions } from "../paper/theory/index.js";
import { checkFolder } from "./writable-place.js";

/** The options as commander hands them over: text, still to be read. */
interface RawOptions {
  r?: string;
  gamma?: string;
  d?: string;
  lambda?: string;
  bRank?: string;
  seed?: string;
  samples?: string;
  json?: true;
  figure?: string;
}

export function theoryCommand(): Command {
  return new Command("theory")
    .description(
      "Evaluates Section 4 of the paper: solves ERM-ℓ2, ERM-rank and the nuclear norm exactly on its data model, and checks each statement.",
    )
    .option("--r <count>", "invariant features (default: 64)")
    .option("--gamma <decimal>", "spurious correlation, above 0 and up to 0.5 (default: 0.4)")
    .option("--d <count>", "features in all (default: the smallest the Proposition allows, floor(r/γ²) + r + 1)")
    .option("--lambda <number>", "weight of the penalties (default: λ₀, the smallest the proof's own terms allow)")
    .option("--b-rank <count>", "bound on the features that ERM-rank uses (default: r)")
    .option("--samples <count>", "draws of each sampled check (default: by d, at most 100000)")
    .option("--seed <number>", "seed of the sampled checks (default: 0)")
    .option("--json", "print everything as one JSON object")
    .option("--figure <folder>", "also draw out-of-domain accuracy against γ and d: theory-accuracy.svg and .png")
    .addHelpText(
      "after",
      `
Examples:
  nudge theory
  nudge theory --r 16 --gamma 0.3
  nudge theory --figure figures --json`,
    )
    .action(async (raw: RawOptions) => {
      if (raw.figure !== undefined) checkFolder(raw.figure, "--figure");
      const theory = await import("../paper/theory/index.js");
      const result = theory.runTheory(readOptions(raw));
      const points = raw.figure === undefined ? null : theory.figurePoints(result.setting);
      const paths = points && (await theory.writeTheoryFigure(result.setting, points, raw.figure!));
      if (raw.json) {
        process.stdout.write(`${theoryJson({ ...result, figure: points && { paths, ...points } })}\n`);
        return;
      }
      process.stdout.write(`${theory.theoryText(result)}\n`);
      for (const path of paths ?? []) process.stdout.write(`wrote ${path}\n`);
    });
}

/** Reads the options' text; γ stays text, for its decimals are exact. */
export function readOptions(raw: RawOptions): TheoryOptions {
  const options: TheoryOptions = {};
  if (raw.r !== undefined) options.r = number("r", raw.r);
  if (raw.gamma !== undefined) options.gamma = raw.gamma;
  if (raw.d !== undefined) options.d = number("d", raw.d);
  if (raw.lambda !== undefined) options.lambda = number("lambda", raw.lambda);
  if (raw.bRank !== undefined) options.bRank = number("b-rank", raw.bRank);
  if (raw.seed !== undefined) options.seed = number("seed", raw.seed);
  if (raw.samples !== undefined) options.samples = number("samples", raw.samples);
  return options;
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new UsageError(`--${name}: expected a number, got "${text}"`);
  return value;
}

/** JSON with the exact fraction's integers as text; infinite values (log of an impossible event) become null. */
export function theoryJson(result: object): string {
  return JSON.stringify(result, (_, value) => (typeof value === "bigint" ? value.toString() : value), 2);
}
