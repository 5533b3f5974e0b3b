/** The command that plans a sweep again with additions: the first request, and what is to be added. */

import { shellWord } from "../files/shell-words.js";
import { withoutPackEnding } from "../pack/pack-file.js";
import { isObject } from "../records/json-lines.js";
import type { ReportedSweep } from "../run-index/indexed-sweep.js";
import { pluginWords } from "../sweep/run-command.js";

/** What is given as an option; everything else is given as a setting, `steps=300`. */
const OPTIONS: Readonly<Record<string, string>> = {
  data: "--data",
  root: "--root",
  algorithms: "--algorithms",
  regularizers: "--regularizers",
  testDomains: "--test-domains",
  trials: "--trials",
  hparams: "--hparams",
};

interface StoredRequest {
  readonly name?: unknown;
  readonly preset?: unknown;
  readonly referenceJobs?: unknown;
  readonly models?: unknown;
  readonly given: Readonly<Record<string, unknown>>;
}

/** The requests of each planning of the sweep. */
export const requestsOf = ({ asked = [] }: ReportedSweep): StoredRequest[] =>
  asked.flatMap((each) => (isObject(each) && isObject(each.given) ? [each as unknown as StoredRequest] : []));

/** Whether every pair of domains is planned to be held out. */
export const hasPairs = (sweep: ReportedSweep): boolean =>
  requestsOf(sweep).some(({ given }) => given.pairs === true || given.pairs === "true");

/** The domains that were requested by name; null if some request included all of them. */
export function askedDomains(sweep: ReportedSweep): ReadonlySet<string> | null {
  const sets = requestsOf(sweep).map(({ given }) => valuesIn(given.testDomains));
  if (sets.length === 0 || sets.some((names) => names.length === 0)) return null;
  // A name can contain the character that joins two names, so both readings are considered.
  return new Set(sets.flat().flatMap((set) => [set, ...set.split("+")]));
}

/**
 * The command that plans a sweep again with all domains held out, and with `pairs` every pair of them. A sweep that was
 * planned in several steps has no single command; then it is what to add.
 */
export function planAgain(sweep: ReportedSweep, { pairs = false } = {}): string {
  const [only, ...others] = requestsOf(sweep);
  const words = only && others.length === 0 ? wordsOf(only) : null;
  const added = pairs ? ["--pairs"] : [];
  return commandOn(sweep, ["nudge sweep plan", ...(words ?? ["…"]), ...added, "--out"].join(" "));
}

/** A command that ends in the folder of a sweep; a packed one must be unpacked first. */
export function commandOn(sweep: ReportedSweep, command: string): string {
  const { folder, packed } = sweep;
  const plugins = /^nudge sweep (run|plan)\b/.test(command) ? pluginWords(sweep) : "";
  if (!packed) return `${command} ${shellWord(folder)}${plugins}`;
  const unpacked = shellWord(withoutPackEnding(folder));
  return `nudge unpack ${shellWord(folder)} --out ${unpacked} && ${command} ${unpacked}${plugins}`;
}

const valuesIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(",") : [])
    .map((each) => each.trim())
    .filter((each) => each !== "");

function wordsOf({ name, preset, referenceJobs, models, given }: StoredRequest): string[] | null {
  const words: string[] = [];
  const option = (flag: string, value: unknown): void => {
    if (typeof value === "string") words.push(flag, shellWord(value));
  };
  option("--preset", preset);
  option("--name", name);
  option("--models", models);
  if (referenceJobs === true) words.push("--reference-jobs");
  for (const [key, value] of Object.entries(given)) {
    if (key === "pairs" || key === "testDomains" || value === null) continue;
    if (key === "grid" && isObject(value)) {
      for (const [setting, values] of Object.entries(value)) words.push("--grid", shellWord(`${setting}=${values}`));
    } else if (isObject(value)) return null;
    else if (Object.hasOwn(OPTIONS, key)) words.push(OPTIONS[key], shellWord(String(value)));
    else words.push(shellWord(`${key}=${value}`));
  }
  return words;
}
