/** The stored results of NumPy and Python for the reference protocol (tests/vectors/reference.py). */
import { readFileSync } from "node:fs";
import { PythonFloat } from "../../src/reference/python-number.js";

type Part = { start: number[]; length: number; digest: string };

interface ReferenceVectors {
  seedHash: { values: unknown[]; text: string; seed: number }[];
  json: { value: unknown; text: string }[];
  generator: {
    seed: number;
    doubles: number[];
    uniforms: number[];
    choices: [n: number, drawn: number][];
    later: number;
    permutations: [n: number, digest: string][];
  }[];
  tenToThe: [exponent: number, power: number][];
  twoToThe: [exponent: number, power: number][];
  split: {
    arguments: { count: number; domain: number; trialSeed: number; holdout: number; test: boolean; uda: number };
    parts: { in: Part; out: Part; uda: Part };
  }[];
  splitHash: { counts: Record<string, number>; trialSeed: number; hash: string }[];
  draws: ({ hparamsSeed: number; trialSeed: number } & Record<
    "small" | "large" | "domainnet" | "nuclear-norm" | "algorithms",
    Record<string, number>
  >)[];
  jobs: { arguments: Record<string, unknown>; name: string }[];
}

export const referenceVectors: ReferenceVectors = JSON.parse(
  readFileSync(new URL("../vectors/reference.json", import.meta.url), "utf8"),
);

/** A stored value with its marked floats, `{"float": 1}`, as Python floats. */
export function untagged<T>(value: unknown): T {
  const walk = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(walk);
    if (typeof item !== "object" || item === null) return item;
    if ("float" in item) return new PythonFloat(item.float as number);
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, walk(inner)]));
  };
  return walk(value) as T;
}
