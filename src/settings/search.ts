/**
 * Settings that a search is asked to draw: a range in the place of a value, as `nudge list` prints ranges,
 *
 *     'optimizer={adam, sgd}'  'lr=10^U(-5, -3)'  'warmupSteps=int(U(0, 200))'
 *
 * Each draw of a sweep (`--hparams 20`) takes its own value, by the seeds that hyperparameters are drawn by; draw 0, which has the
 * defaults of all others, takes the first of a list and the middle of a range. The request of a run keeps the range: with the seeds
 * beside it, it is the same value again, and all draws are one row of a table.
 */

import { type Hparam, type HparamValue, parseRange, type SearchRange } from "../hparams.js";
import { drawHparam } from "./hparam-draws.js";
import { type KeyName, keys, type Request } from "./keys.js";

/** Settings besides hyperparameters and options of plug-ins that may be drawn. */
const SEARCHED_KEYS: readonly string[] = [
  "optimizer",
  "schedule",
  "warmupSteps",
  "clipNorm",
  "headLr",
] satisfies KeyName[];

export interface Drawn {
  /** The request with a value in the place of each range. */
  readonly asked: Request;
  /** The ranges, by the names they were asked under; without spaces, which part words of a row's name. */
  readonly ranges: Readonly<Record<string, string>>;
}

/** Draws what a request has ranges for; `declared` are hyperparameters whose names in the reference a draw goes by. */
export function withDraws(asked: Request, declared: () => Readonly<Record<string, Hparam>>): Drawn {
  const found = Object.entries(asked).flatMap(([name, value]): [string, SearchRange<HparamValue>][] => {
    if (typeof value !== "string" || !/[{(]/.test(value)) return [];
    if ((Object.hasOwn(keys, name) && !SEARCHED_KEYS.includes(name)) || name.startsWith("data.")) return [];
    const range = parseRange(value);
    return range ? [[name, range]] : [];
  });
  if (found.length === 0) return { asked, ranges: {} };
  const seed = (name: "hparamsSeed" | "trialSeed"): number =>
    keys[name].kind.read(name, asked[name] ?? keys[name].default);
  const seeds = { hparamsSeed: seed("hparamsSeed"), trialSeed: seed("trialSeed") };
  const known = declared();
  const values: Record<string, unknown> = { ...asked };
  for (const [name, range] of found) {
    const own = name.slice(name.indexOf(".") + 1);
    const { reference } = known[own] ?? {};
    values[name] = drawHparam(
      own,
      { default: middleOf(range), range, ...(reference && { reference }) } as Hparam,
      seeds,
    );
    dropOthers(values, name, asked[name] as string);
  }
  return { asked: values, ranges: Object.fromEntries(found.map(([name]) => [name, bare(asked[name] as string)])) };
}

/** The first of a list, the middle of a range. */
const middleOf = (range: SearchRange<HparamValue>): HparamValue =>
  range.draw({ uniform: (from, to) => (from + to) / 2, choice: ([first]) => first });

const bare = (text: string): string => text.replaceAll(/\s+/g, "");

/** The ids that a searched optimizer or schedule may have. */
const idsIn = (name: string, text: string): string[] =>
  name === "optimizer" || name === "schedule" ? bare(text).slice(1, -1).split(",") : [];

const isOptionOf = (ids: readonly string[], key: string): boolean => ids.some((id) => key.startsWith(`${id}.`));

/** Options of an optimizer or schedule that another draw has are not this one's. */
function dropOthers(values: Record<string, unknown>, name: string, text: string): void {
  const others = idsIn(name, text).filter((id) => id !== values[name]);
  for (const key of Object.keys(values)) if (isOptionOf(others, key)) delete values[key];
}

/** What may count as set by hand: options of one of several optimizers are not in every draw, and would part a row. */
export function withoutDrawnOptions({ asked, ranges }: Drawn): Request {
  const ids = Object.entries(ranges).flatMap(([name, text]) => idsIn(name, text));
  if (ids.length === 0) return asked;
  return Object.fromEntries(Object.entries(asked).filter(([key]) => !isOptionOf(ids, key)));
}

/** A request without values that look like ranges: enough to know its method. */
export const withoutRanges = ({
  optimizer: _,
  schedule: __,
  warmupSteps: ___,
  clipNorm: ____,
  headLr: _____,
  ...rest
}: Request): Request => rest;

/** Ranges by the names that a request has them under. */
export const rangesByName = (
  ranges: Readonly<Record<string, string>>,
  given: ReadonlyMap<string, string>,
): Record<string, string> =>
  Object.fromEntries(Object.entries(ranges).map(([name, text]) => [given.get(name) ?? name, text]));
