/** `nudge theory`: evaluates Section 4 of the paper for given parameters and checks every statement. Loads no engine. */

import { Command } from "commander";
import { UsageError } from "../errors.js";
import type { TheoryOptions } from "../paper/theory/index.js";
import { checkFolder } from "./writable-place.js";

/** The options as commander passes them: text that is not yet parsed. */
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
      "Evaluates Section 4 of the paper: solves ERM-ℓ2, ERM-rank and the nuclear norm exactly on its data model, and checks every statement.",
    )
    .option("--r <count>", "the number of invariant features (default: 64)")
    .option("--gamma <decimal>", "the spurious correlation, above 0 and at most 0.5 (default: 0.4)")
    .option(
      "--d <count>",
      "the total number of features (default: the smallest that the Proposition allows, floor(r/γ²) + r + 1)",
    )
    .option("--lambda <number>", "the weight of the penalties (default: λ₀, the smallest that the proof allows)")
    .option("--b-rank <count>", "the bound on the number of features that ERM-rank uses (default: r)")
    .option("--samples <count>", "the number of samples of each sampled check (default: depends on d, at most 100000)")
    .option("--seed <number>", "the seed of the sampled checks (default: 0)")
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

/** Parses the options. γ stays text, because its decimals are exact. */
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

/**
 * JSON in which the integers of exact fractions are text, and infinite values (the log of an impossible event) are
 * null.
 */
export function theoryJson(result: object): string {
  return JSON.stringify(result, (_, value) => (typeof value === "bigint" ? value.toString() : value), 2);
}
