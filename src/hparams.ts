/**
 * Hyperparameters: a default, the range that a random search draws from, and the name in DomainBed, which DomainBed's
 * draws are seeded with. A range is only for searching: a value outside it is accepted.
 */

import { UsageError } from "./errors.js";
import { boolean, type Kind, kindLike, type Meaning, type Option, word } from "./options.js";
import { tenToThe, twoToThe } from "./reference/power.js";

/**
 * The source of random numbers of a range: `Philox` (engine/philox.ts), or NumPy's `RandomState`
 * (reference/mt19937.ts).
 */
export interface DrawSource {
  /** A number from [from, to). */
  uniform(from: number, to: number): number;
  /** One of several items with equal probability. If it is missing, the index is drawn with `uniform`. */
  choice?<T>(items: readonly T[]): T;
}

/** The values that a random search can draw. */
export interface SearchRange<T> {
  /** The printed form: `10^U(-2.5, -1.5)`. */
  readonly text: string;
  draw(random: DrawSource): T;
}

export type HparamValue = number | string | boolean;

/** One hyperparameter, as a plug-in declares it: an option with a default and a search range. */
export interface Hparam<T extends HparamValue = HparamValue> extends Option<T> {
  readonly default: T;
  readonly range: SearchRange<T>;
  /** Its name in DomainBed, such as `theta`; its own name if DomainBed has none. */
  readonly reference?: string;
  /**
   * The allowed values, for a hyperparameter that selects a variant of a method and is not searched. The default comes
   * first.
   */
  readonly variants?: readonly T[];
}

/** Declares a hyperparameter: `weight: hparam(0.01, powerOfTen(-2.5, -1.5), { reference: "theta" })`. */
export function hparam<T extends HparamValue>(
  value: T,
  range: SearchRange<Widened<T>>,
  {
    reference,
    help = "",
    kind,
    ...meaning
  }: { reference?: string; help?: string; kind?: Kind<Widened<T>> } & Meaning = {},
): Hparam<Widened<T>> {
  const own = { default: value as Widened<T>, kind: kind ?? kindLike(value as Widened<T>), help, range, ...meaning };
  return { ...own, ...(reference === undefined ? {} : { reference }) };
}

/** Declares a setting that selects a variant of a method. The default comes first, and a search does not change it. */
export function variant<T extends string | boolean>(
  variants: readonly [T, ...T[]],
  options: { reference?: string } = {},
): Hparam<Widened<T>> {
  const [first] = variants;
  const kind = (typeof first === "string" ? word(...(variants as readonly string[])) : boolean) as Kind<unknown>;
  const declared = hparam<T>(first, choice<T>([first]), { ...options, kind: kind as Kind<Widened<T>> });
  return { ...declared, variants: variants.map((each) => each as Widened<T>) };
}

/** `hparam(0.01, …)` is a number, not the literal 0.01. */
type Widened<T> = T extends number ? number : T extends boolean ? boolean : T extends string ? string : T;

/** 10^x with x uniform in [from, to). */
export function powerOfTen(from: number, to: number): SearchRange<number> {
  return range(`10^U(${from}, ${to})`, from, to, tenToThe);
}

/** The integer part of 2^x with x uniform in [from, to). */
export function powerOfTwoInteger(from: number, to: number): SearchRange<number> {
  return range(`int(2^U(${from}, ${to}))`, from, to, (x) => Math.floor(twoToThe(x)));
}

/** The integer part of 10^x with x uniform in [from, to). */
export function powerOfTenInteger(from: number, to: number): SearchRange<number> {
  return range(`int(10^U(${from}, ${to}))`, from, to, (x) => Math.floor(tenToThe(x)));
}

/** The integer part of a number uniform in [from, to). */
export function uniformInteger(from: number, to: number): SearchRange<number> {
  return range(`int(U(${from}, ${to}))`, from, to, Math.floor);
}

/** A number uniform in [from, to). */
export function uniform(from: number, to: number): SearchRange<number> {
  return range(`U(${from}, ${to})`, from, to, (x) => x);
}

/** One of several values with equal probability. */
export function choice<T extends HparamValue>(values: readonly T[]): SearchRange<Widened<T>> {
  if (values.length === 0) throw new UsageError("choice: expected at least one value, got none");
  const pick = (random: DrawSource): T =>
    random.choice ? random.choice(values) : values[Math.floor(random.uniform(0, values.length))];
  return { text: `{${values.join(", ")}}`, draw: (random) => pick(random) as Widened<T> };
}

const NUMBER = "-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?";
const RANGE = new RegExp(`^(int\\()?(10\\^|2\\^)?U\\(\\s*(${NUMBER})\\s*,\\s*(${NUMBER})\\s*\\)(\\))?$`, "i");

/** Parses the printed form of a range, such as `{adam, sgd}` or `int(10^U(0, 4))`; returns null for any other text. */
export function parseRange(text: string): SearchRange<HparamValue> | null {
  const trimmed = text.trim();
  if (/^\{.+\}$/s.test(trimmed)) {
    const items = trimmed.slice(1, -1).split(",");
    return choice(items.map((item) => scalarOf(item.trim())));
  }
  const [, whole, base, from, to, closed] = RANGE.exec(trimmed) ?? [];
  if (from === undefined || (whole === undefined) !== (closed === undefined)) return null;
  const power = base === undefined ? (x: number) => x : base === "2^" ? twoToThe : tenToThe;
  return range(trimmed, Number(from), Number(to), whole === undefined ? power : (x) => Math.floor(power(x)));
}

const scalarOf = (text: string): HparamValue =>
  text === "true"
    ? true
    : text === "false"
      ? false
      : text !== "" && Number.isFinite(Number(text))
        ? Number(text)
        : text;

function range(text: string, from: number, to: number, map: (x: number) => number): SearchRange<number> {
  if (!(from <= to)) throw new UsageError(`${text}: expected a range whose start is not above its end`);
  return { text, draw: (random) => map(random.uniform(from, to)) };
}
