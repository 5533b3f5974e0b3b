/**
 * Data from disk may come from another machine, another version or a damaged disk. It is validated once, when it is
 * read, by a schema (valibot), and trusted afterwards. The message of a schema is the expected value, as in `expected
 * "seed" to be an integer of at least 0, got -1`.
 */

import * as v from "valibot";
import { DataError } from "../errors.js";

/** A schema of values of a type. */
export type Schema<T> = v.GenericSchema<unknown, T>;

/**
 * A value of an untrusted file, shortened for an error message. A value that is nested too deeply is described instead.
 */
export function show(value: unknown): string {
  let text: string;
  try {
    text = value === undefined ? "missing" : JSON.stringify(value);
  } catch {
    text = "a value that is nested too deeply";
  }
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** The validated value, or a text that describes the problem. */
function checked<T>(schema: Schema<T>, value: unknown): { readonly value: T } | string {
  if (!isObject(value)) return `expected an object, got ${show(value)}`;
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return { value: result.output };
  const [{ message, path = [] }] = result.issues;
  const place = path.map(({ key }) => String(key)).join(".");
  const found = path.reduce<unknown>((inside, { key }) => (inside as Record<string, unknown>)?.[String(key)], value);
  // The message for a missing key comes from valibot; all others come from our schemas.
  return found === undefined ? `"${place}" is missing` : `expected "${place}" to be ${message}, got ${show(found)}`;
}

interface StoredFile {
  readonly path: string;
  /** The content, for errors: `the settings of a run`. */
  readonly what: string;
  /** Advice for a file that is not valid. */
  readonly remedy?: string;
  /** The format that this version writes. Files with a later format are not read. */
  readonly format?: number;
}

/** Parses and validates the text of a JSON file. Throws a `DataError` with the name of the file. */
export function parseStored<T>(schema: Schema<T>, text: string, file: StoredFile): T {
  const { path, what, remedy } = file;
  const end = remedy === undefined ? "" : `. ${remedy}`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new DataError(`${path}: ${what} could not be read: ${(cause as Error).message}${end}`, { cause });
  }
  const later = laterFormat(parsed, file);
  if (later !== undefined) throw new DataError(`${path}: ${later}`);
  const found = checked(schema, parsed);
  if (typeof found === "string") throw new DataError(`${path}: not ${what}: ${found}${end}`);
  return found.value;
}

/** The message for a file that a later version has written; undefined for other files. */
function laterFormat(parsed: unknown, { what, format: known = 1 }: Pick<StoredFile, "what" | "format">) {
  const { format } = (parsed ?? {}) as { readonly format?: unknown };
  return typeof format === "number" && format > known
    ? `${what} in format ${format}, and this version of NUDGE reads formats up to ${known}. Update NUDGE`
    : undefined;
}

/** Parses and validates a text; undefined if it is not valid. */
export function parseIfFits<T>(schema: Schema<T>, text: string | undefined): T | undefined {
  try {
    const found = checked(schema, JSON.parse(text ?? "null"));
    return typeof found === "string" ? undefined : found.value;
  } catch {
    return undefined;
  }
}

/**
 * An object of which only some keys are validated. The object itself is kept with its other keys, whereas
 * `v.looseObject` makes a copy, which takes longer than all checks of the settings of a run.
 */
export function openObject<const Entries extends v.ObjectEntries>(
  entries: Entries,
): v.LooseObjectSchema<Entries, undefined> {
  const schema = v.looseObject(entries);
  type Run = (typeof schema)["~run"];
  const checks = Object.entries(entries);
  const run: Run = (dataset, config) => {
    const { value: object } = dataset;
    if (!isObject(object)) return schema["~run"](dataset, config);
    const values = object as Record<string, unknown>;
    for (const [key, check] of checks) {
      const value = values[key];
      const { issues, value: read } = check["~run"]({ value }, config);
      if (issues) return schema["~run"](dataset, config); // which describes the problem
      if (read !== value) values[key] = read;
    }
    return Object.assign(dataset, { typed: true as const }) as unknown as ReturnType<Run>;
  };
  return { ...schema, "~run": run };
}

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object";
const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Any non-empty string. */
export const nameSchema = v.pipe(v.string("a name"), v.nonEmpty("a name"));

const DIFFERENT = "a list of different names";
export const namesSchema = v.pipe(
  v.array(v.string(DIFFERENT), DIFFERENT),
  v.check((names) => names.every((name) => name !== "") && new Set(names).size === names.length, DIFFERENT),
);

export const textsSchema = v.custom<readonly string[]>(
  (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  "a list of texts",
);

const WHOLE = "an integer of at least 0";
export const wholeSchema = v.pipe(v.number(WHOLE), v.safeInteger(WHOLE), v.minValue(0, WHOLE));

export const numberSchema = v.pipe(v.number("a number"), v.finite("a number"));

/** Strings, numbers and booleans by name. Checked by hand, because a union of schemas takes ten times as long. */
export const scalarsSchema = v.custom<Readonly<Record<string, string | number | boolean | null>>>(
  (value) => isObject(value) && Object.values(value).every(isPlain),
  "values by name",
);

/** The same, and lists of strings. */
export const requestSchema = v.custom<Readonly<Record<string, string | number | boolean | null | readonly string[]>>>(
  (value) => isObject(value) && Object.values(value).every((item) => isPlain(item) || v.is(textsSchema, item)),
  "settings by name",
);
