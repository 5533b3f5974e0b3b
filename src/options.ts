/**
 * One way to declare options for all owners: settings of a run, hyperparameters (hparams.ts), options of datasets and
 * launchers, settings of penalties and averages. Parsing, errors, help, completion, `nudge list` and docs/reference
 * read the declarations.
 *
 *     const options = {
 *       samples: option(200, "readings in each place"),                      // a number, by its default
 *       layout: option(word("flat", "deep"), "how files lie", { default: "flat" }),
 *       queue: option(text, "the queue"),                                     // without a default
 *     };
 *     const { samples, layout, queue } = readOptions("dataset sensors", options, given);
 */

import { unknownName } from "./closest-name.js";
import { UsageError } from "./errors.js";

/** The values that an option accepts. */
export interface Kind<T> {
  /** The printed form: `an integer of at least 1`, `per-sample | sum`. */
  readonly accepts: string;
  /** The accepted names, if there is a fixed list. */
  readonly known?: readonly string[];
  /** The JSON type of its values, if all of them have one. */
  readonly type?: "number" | "string" | "boolean" | "list";
  /** Parses a value, typed or as text from a command line. An invalid value is a UsageError that begins with the name. */
  read(name: string, value: unknown): T;
}

/**
 * What a setting means for the identity of a run. The default is the safe one: the value changes the numbers of a run,
 * so it is part of its id, and runs with different values are never in one cell of a table.
 */
export interface Meaning {
  /** Why the value is not part of the id of a run. */
  readonly unhashed?: string;
  /** Why runs that differ in it alone can share a cell of a table. */
  readonly pooled?: string;
  /** The only model whose rows it concerns. */
  readonly model?: string;
  /** Whether a search can draw it. Hyperparameters have a range instead. */
  readonly searched?: true;
  /** Whether a run that is resumed can have another value. */
  readonly moves?: true;
  /** Whether it belongs to the machine that executes the run: a plan stores it only if it was given. */
  readonly machine?: true;
  /** Whether it concerns updates by gradient descent, of which the exact probe makes none. */
  readonly ofUpdates?: true;
  /**
   * The rank of a setting that the program chooses for own pictures, the most informative first. Rows show it
   * only if nothing else distinguishes them.
   */
  readonly chosen?: number;
}

export interface Option<T = unknown> extends Meaning {
  readonly kind: Kind<T>;
  /** One line for help and lists. */
  readonly help: string;
  /** Absent if the default depends on other things, or if there is none. */
  readonly default?: T;
  /** The name in earlier versions. Values under this name are still read. */
  readonly formerly?: string;
  /** The flag on the command line, if there is one: `--eval-every <n>`. */
  readonly flag?: string;
}

export type OptionWithDefault<T = unknown> = Option<T> & { readonly default: T };
export type Options = Readonly<Record<string, Option>>;

/** The values of options by name; undefined if there is neither a value nor a default. */
export type ValuesOf<O> = {
  readonly [K in keyof O]: O[K] extends OptionWithDefault<infer T>
    ? T
    : O[K] extends Option<infer T>
      ? T | undefined
      : never;
};

/** Values by name, as they were given: texts, or values from a file. */
export type Given = Readonly<Record<string, unknown>>;

/**
 * Declares an option. Its kind is that of the default, `option(0, "another seed, other pictures")`, or is given
 * explicitly.
 */
export function option(value: number, help: string): OptionWithDefault<number>;
export function option(value: string, help: string): OptionWithDefault<string>;
export function option(value: boolean, help: string): OptionWithDefault<boolean>;
export function option<T>(
  kind: Kind<T>,
  help: string,
  more: { default: NoInfer<T>; flag?: string; formerly?: string } & Meaning,
): OptionWithDefault<T>;
export function option<T>(kind: Kind<T>, help: string, more?: { flag?: string } & Meaning): Option<T>;
export function option(first: Scalar | Kind<unknown>, help: string, more: Partial<Option> = {}): Option {
  if (typeof first === "object") return { kind: first, help, ...more };
  return { kind: kindLike(first), help, default: first };
}

/**
 * The values of an owner's options: the given value, else the one in `usual`, else the default. An unknown name is a
 * UsageError.
 */
export function readOptions<O extends Options>(
  owner: string,
  declared: O,
  given: Given,
  { prefix = `${owner}.`, usual = {} }: { prefix?: string; usual?: Given } = {},
): ValuesOf<O> {
  const known = Object.keys(declared);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(declared, currentName(declared, name)) || given[name] === undefined) continue;
    if (known.length === 0) throw new UsageError(`${owner} has no options, got "${name}"`);
    throw new UsageError(unknownName(`option of ${owner}`, name, known));
  }
  const values = Object.entries(declared).flatMap(
    ([name, { kind, default: fallback, formerly }]): [string, unknown][] => {
      const value = given[name] ?? (formerly && given[formerly]) ?? usual[name] ?? fallback;
      return value === undefined ? [] : [[name, kind.read(`${prefix}${name}`, value)]];
    },
  );
  return Object.freeze(Object.fromEntries(values)) as ValuesOf<O>;
}

/** The present name of an option that was given by this or by its former name. */
export const currentName = (declared: Options, name: string): string =>
  Object.hasOwn(declared, name)
    ? name
    : (Object.keys(declared).find((each) => declared[each].formerly === name) ?? name);

/** The values of options, with those that were renamed under their former names. */
export function underFormerNames<T>(
  declared: Options,
  values: Readonly<Record<string, T>>,
): Readonly<Record<string, T>> {
  if (!Object.values(declared).some(({ formerly }) => formerly !== undefined)) return values;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [declared[name]?.formerly ?? name, value]));
}

/** The defaults of the options that have one. */
export const defaultsOf = (declared: Options): Record<string, never> =>
  Object.fromEntries(
    Object.entries(declared).flatMap(([name, each]) => (each.default === undefined ? [] : [[name, each.default]])),
  ) as Record<string, never>;

type Scalar = number | string | boolean;

/** A value of a setting in files. */
export type SettingScalar = Scalar | null;

const wrong = (name: string, expected: string, value: unknown): UsageError =>
  new UsageError(`${name}: expected ${expected}, got ${JSON.stringify(value) ?? String(value)}`);

const toNumber = (value: unknown): unknown =>
  typeof value === "string" && value.trim() !== "" ? Number(value) : value;

/** A word or a path. YAML parses `28` and `true` as numbers and booleans; here they become text again. */
export const text: Kind<string> = {
  accepts: "text",
  type: "string",
  read(name, value) {
    const read = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
    if (typeof read !== "string" || read === "") throw wrong(name, "text", value);
    if (read.includes("\0")) throw wrong(name, "text without NUL characters", value);
    return read;
  },
};

/** Text that may be empty, which means "none". */
const textOrNone: Kind<string> = { ...text, read: (name, value) => (value === "" ? "" : text.read(name, value)) };

/** Comma-separated names, or a list of names. */
export const list: Kind<string[]> = {
  accepts: "a name, or comma-separated names",
  type: "list",
  read(name, value) {
    const items = typeof value === "string" ? value.split(",").map((item) => item.trim()) : value;
    if (!Array.isArray(items)) throw wrong(name, list.accepts, value);
    return items.filter((item) => item !== "").map((item) => text.read(name, item));
  },
};

/** A finite number, at least `least` or above `above`, and at most `most` or below `below`. */
export function number({ least, above, most, below }: NumberRange = {}): Kind<number> {
  const low = least === undefined ? (above === undefined ? "" : ` above ${above}`) : ` from ${least}`;
  const high = most === undefined ? (below === undefined ? "" : ` below ${below}`) : ` ${most}`;
  const accepts = `a number${low}${high === "" ? "" : low === "" ? ` up to${high}` : ` to${high}`}`;
  const fits = (value: number): boolean =>
    Number.isFinite(value) &&
    value >= (least ?? value) &&
    value <= (most ?? value) &&
    (above === undefined || value > above) &&
    (below === undefined || value < below);
  return {
    accepts,
    type: "number",
    read(name, value) {
      const read = toNumber(value);
      if (typeof read !== "number" || !fits(read)) throw wrong(name, accepts, value);
      return read;
    },
  };
}

interface NumberRange {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  readonly below?: number;
}

/** An integer of at least `least`. */
export function whole(least = 0): Kind<number> {
  const accepts = `an integer of at least ${least}`;
  return {
    accepts,
    type: "number",
    read(name, value) {
      const read = toNumber(value);
      if (!Number.isSafeInteger(read) || (read as number) < least) throw wrong(name, accepts, value);
      return read as number;
    },
  };
}

export const boolean: Kind<boolean> = {
  accepts: "true or false",
  type: "boolean",
  known: ["true", "false"],
  read(name, value) {
    if (value === true || value === "true") return true;
    if (value === false || value === "false") return false;
    throw wrong(name, "true or false", value);
  },
};

/** One of several words. */
export function word<const T extends string>(...known: readonly T[]): Kind<T> {
  return {
    accepts: known.join(" | "),
    type: "string",
    known,
    read(name, value) {
      const found = known.find((each) => each === value);
      if (found === undefined) throw new UsageError(unknownName(name, String(value), known));
      return found;
    },
  };
}

/** The kind of a value: a number, a boolean, or text, which may be empty if the value is. */
export function kindLike<T extends Scalar>(value: T): Kind<T> {
  const kind =
    typeof value === "number" ? number() : typeof value === "boolean" ? boolean : value === "" ? textOrNone : text;
  return kind as Kind<unknown> as Kind<T>;
}

/** The available kinds, for plug-ins. */
export const kinds = { text, list, number, whole, boolean, word };

/** Declares an option that takes an integer of at least 0: `count(100, "steps before the penalty is added")`. */
export const count = (fallback: number, help: string, meaning: Meaning = {}): OptionWithDefault<number> =>
  option(whole(0), help, { default: fallback, ...meaning });

/** Declares an option that accepts one of several words: `oneOf(["sum", "mean"], "mean", "how rows are combined")`. */
export const oneOf = <const T extends string>(
  known: readonly T[],
  fallback: NoInfer<T>,
  help: string,
): OptionWithDefault<T> => option(word(...known), help, { default: fallback });
