/**
 * Values in a file from an unknown source: each one is checked before use, and an invalid one is a `DataError` with the
 * file, the key, what was expected and what was found.
 */

import { DataError } from "../errors.js";
import { show } from "../files/stored-json.js";

type Values = Readonly<Record<string, unknown>>;

const isValues = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Values by name, read with checks. */
export class StoredFacts {
  private constructor(
    private readonly file: string,
    private readonly place: string,
    private readonly values: Values,
  ) {}

  /** Parses a JSON text. `place` names it in errors. */
  static parse(file: string, place: string, text: string): StoredFacts {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new DataError(`${file}: not a model: expected "${place}" in JSON: ${(cause as Error).message}`, { cause });
    }
    if (!isValues(value)) throw new DataError(`${file}: not a model: expected "${place}" to be an object`);
    return new StoredFacts(file, place, value);
  }

  wrong(key: string, expected: string): DataError {
    const got = show(Object.hasOwn(this.values, key) ? this.values[key] : undefined);
    return new DataError(`${this.file}: ${this.place}.${key}: expected ${expected}, got ${got}`);
  }

  has(key: string): boolean {
    return Object.hasOwn(this.values, key) && this.values[key] !== null && this.values[key] !== undefined;
  }

  private get<T>(key: string, isIt: (value: unknown) => value is T, expected: string): T {
    const value = Object.hasOwn(this.values, key) ? this.values[key] : undefined;
    if (!isIt(value)) throw this.wrong(key, expected);
    return value;
  }

  text(key: string): string {
    const isText = (value: unknown): value is string =>
      typeof value === "string" && value !== "" && value.length <= LONGEST_TEXT;
    return this.get(key, isText, `a text of at most ${LONGEST_TEXT} characters`);
  }

  whole(key: string, least: number, most: number): number {
    const isWhole = (value: unknown): value is number =>
      Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
    return this.get(key, isWhole, `an integer from ${least} to ${most}`);
  }

  number(key: string, least: number, most: number): number {
    const isNumber = (value: unknown): value is number => typeof value === "number" && value >= least && value <= most;
    return this.get(key, isNumber, `a number from ${least} to ${most}`);
  }

  truth(key: string): boolean {
    return this.get(key, (value) => typeof value === "boolean", "true or false");
  }

  oneOf<T extends string>(key: string, known: readonly T[]): T {
    const isKnown = (value: unknown): value is T => known.includes(value as T);
    return this.get(key, isKnown, known.map((each) => `"${each}"`).join(" or "));
  }

  /** Distinct texts. */
  names(key: string, { least = 0, most = 100_000 } = {}): readonly string[] {
    const isNames = (value: unknown): value is string[] =>
      Array.isArray(value) &&
      value.length >= least &&
      value.length <= most &&
      value.every((each) => typeof each === "string" && each.length <= LONGEST_TEXT) &&
      new Set(value).size === value.length;
    return this.get(key, isNames, `${least > 0 ? `at least ${least}` : "some"} different names in a list`);
  }

  numbers(key: string, count: readonly [least: number, most: number], isOne: (value: number) => boolean): number[] {
    const [least, most] = count;
    const isNumbers = (value: unknown): value is number[] =>
      Array.isArray(value) &&
      value.length >= least &&
      value.length <= most &&
      value.every((each) => typeof each === "number" && isOne(each));
    return this.get(key, isNumbers, `a list of ${least === most ? least : `${least} to ${most}`} fitting numbers`);
  }

  /** An object under this key. */
  object(key: string): StoredFacts {
    return new StoredFacts(this.file, `${this.place}.${key}`, this.get(key, isValues, "values by name"));
  }

  /** Texts, numbers and booleans by name. */
  scalars(key: string): Readonly<Record<string, string | number | boolean | null>> {
    const { values } = this.object(key);
    const bad = Object.keys(values).find((name) => typeof values[name] === "object" && values[name] !== null);
    if (bad !== undefined) throw this.wrong(key, `a plain value for "${bad}"`);
    return values as Readonly<Record<string, string | number | boolean | null>>;
  }

  /** All values, unchecked: for display only. */
  get all(): Values {
    return this.values;
  }
}

const LONGEST_TEXT = 1000;
