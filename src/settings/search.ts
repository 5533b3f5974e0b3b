/**
 * Settings that a search draws: the value is a range, in the form that `nudge list` prints,
 *
 *     'optimizer={adam, sgd}'  'lr=10^U(-5, -3)'  'warmupSteps=int(U(0, 200))'
 *
 * Each draw of a sweep (`--hparams 20`) takes its own value, from the same seeds as hyperparameters. Draw 0, which has
 * the defaults of all others, takes the first value of a list and the middle of a range. The request of a run keeps the
 * range: together with the seeds it gives the same value again, and all draws are one row of a table.
 */

import { searchedKeys } from "../declared-settings/declared.js";
import { keys, type Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { type Hparam, type HparamValue, parseRange, type SearchRange } from "../hparams.js";
import { optimizerNamed, scheduleNamed } from "../optim/index.js";
import type { Options } from "../options.js";
import type { FixedSettings } from "../records/fixed-settings.js";
import { drawHparam } from "./hparam-draws.js";

export interface Drawn {
  /** The request with each range replaced by a value. */
  readonly asked: Request;
  /** The request before. */
  readonly request: Request;
  /** The ranges by the names in the request, without spaces, because spaces separate the words of a row's name. */
  readonly ranges: Readonly<Record<string, string>>;
}

/** The ranges in a request. A value that is written like a range and is none is an error. */
function rangesIn(asked: Request): [string, SearchRange<HparamValue>][] {
  return Object.entries(asked).flatMap(([name, value]): [string, SearchRange<HparamValue>][] => {
    if (typeof value !== "string" || !/[{(]/.test(value)) return [];
    if ((Object.hasOwn(keys, name) && !searchedKeys.includes(name)) || name.startsWith("data.")) return [];
    const range = parseRange(value);
    if (!range && /^\{|U\(/i.test(value.trim()))
      throw new UsageError(
        `${name}: expected a value, or a range written as U(0, 1), 10^U(-4, -2), int(2^U(3, 5)) or {adam, sgd}; got "${value}"`,
      );
    return range ? [[name, range]] : [];
  });
}

/**
 * Refuses ranges in a request that is not part of a search, in which all draws are the first: a range would become one
 * value without a message. `next` says what to do. Stored requests of a search have `fixed`.
 */
export function checkSearched(asked: Request, next: string): void {
  if (asked.fixed !== undefined || Number(asked.hparamsSeed ?? 0) !== 0) return;
  const [first] = rangesIn(asked);
  if (first)
    throw new UsageError(
      `${first[0]}=${String(asked[first[0]])}: a range is for a search, and this is none. Give a value, or ${next}`,
    );
}

/** What to do instead of giving a range to a single run. */
export const SEARCH_RUNS =
  "search with nudge sweep run --hparams 20 (--hparams-seed 1 draws the values of a single run)";

/** Draws the values of all ranges in a request. `declared` are hyperparameters whose names in DomainBed seed the draws. */
export function withDraws(asked: Request, declared: () => Readonly<Record<string, Hparam>>): Drawn {
  const found = rangesIn(asked);
  if (found.length === 0) return { asked, request: asked, ranges: {} };
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
  return {
    asked: values,
    request: asked,
    ranges: Object.fromEntries(found.map(([name]) => [name, bare(asked[name] as string)])),
  };
}

/** The first value of a list, or the middle of a range. */
const middleOf = (range: SearchRange<HparamValue>): HparamValue =>
  range.draw({ uniform: (from, to) => (from + to) / 2, choice: ([first]) => first });

const bare = (text: string): string => text.replaceAll(/\s+/g, "");

/** The ids that a searched optimizer or schedule can have. */
const idsIn = (name: string, text: string): string[] =>
  name === "optimizer" || name === "schedule" ? bare(text).slice(1, -1).split(",") : [];

const isOptionOf = (ids: readonly string[], key: string): boolean => ids.some((id) => key.startsWith(`${id}.`));

/** Drops the options of an optimizer or schedule that only another draw has. */
function dropOthers(values: Record<string, unknown>, name: string, text: string): void {
  const others = idsIn(name, text).filter((id) => id !== values[name]);
  for (const key of Object.keys(values)) if (isOptionOf(others, key)) delete values[key];
}

/**
 * Settings that can count as explicit: options of one of several optimizers are not in every draw and would split a
 * row.
 */
export function withoutDrawnOptions({ asked, ranges }: Drawn): Request {
  const ids = Object.entries(ranges).flatMap(([name, text]) => idsIn(name, text));
  if (ids.length === 0) return asked;
  return Object.fromEntries(Object.entries(asked).filter(([key]) => !isOptionOf(ids, key)));
}

/**
 * The options of searched optimizers and schedules, which only some draws have; undefined if there are none. Defaults do not
 * count: the recorded request of a run has those of the part that it drew.
 */
export function optionsOfDraws({ request, ranges }: Drawn): FixedSettings | undefined {
  const options = Object.entries(ranges).flatMap(([name, text]) =>
    idsIn(name, text).flatMap((id) => {
      const { options: declared }: { options: Options } = name === "optimizer" ? optimizerNamed(id) : scheduleNamed(id);
      return Object.entries(declared).map(([own, { default: usual }]) => ({ key: `${id}.${own}`, usual }));
    }),
  );
  const given = options.filter(
    ({ key, usual }) => (request[key] ?? null) !== null && String(request[key]) !== String(usual),
  );
  if (given.length === 0) return undefined;
  return Object.fromEntries(given.map(({ key }) => [key, bare(String(request[key]))]));
}

/** A request without values that look like ranges: enough to know its method. */
export const withoutRanges = (request: Request): Request =>
  Object.fromEntries(Object.entries(request).filter(([name]) => !searchedKeys.includes(name)));

/** Ranges by their names in a request. */
export const rangesByName = (
  ranges: Readonly<Record<string, string>>,
  given: ReadonlyMap<string, string>,
): Record<string, string> =>
  Object.fromEntries(Object.entries(ranges).map(([name, text]) => [given.get(name) ?? name, text]));
