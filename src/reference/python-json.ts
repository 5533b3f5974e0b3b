/**
 * Python's `json.dumps(value, sort_keys=True)`, character for character: separators `", "` and `": "`, ASCII only, keys
 * sorted by code point, numbers as Python writes them.
 */
import { UsageError } from "../errors.js";
import { numberText, PythonFloat } from "./python-number.js";

/** The values that `pythonJson` accepts. A key whose value is undefined is omitted. */
export type PythonJson =
  | number
  | bigint
  | PythonFloat
  | string
  | boolean
  | null
  | readonly PythonJson[]
  | { readonly [key: string]: PythonJson | undefined };

const shortEscapes: Record<string, string> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\f": "\\f",
  "\b": "\\b",
};

function stringText(text: string): string {
  // By UTF-16 code units, as in Python: characters beyond them are written as two escapes.
  const inside = text.replace(
    /[^ !#-[\]-~]/g,
    (unit) => shortEscapes[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${inside}"`;
}

/** Compares two strings by code point. JavaScript compares UTF-16 code units, which differs above U+D7FF. */
function byCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = left[i].codePointAt(0)! - right[i].codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** The JSON text that Python writes for a value. */
export function pythonJson(value: PythonJson): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return stringText(value);
  if (typeof value === "number" || typeof value === "bigint" || value instanceof PythonFloat) return numberText(value);
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value !== "object")
    throw new UsageError(`JSON as Python writes it: expected plain data, got ${typeof value}`);
  const pairs = Object.entries(value as { [key: string]: PythonJson | undefined })
    .filter((pair): pair is [string, PythonJson] => pair[1] !== undefined)
    .sort(([a], [b]) => byCodePoints(a, b))
    .map(([key, item]) => `${stringText(key)}: ${pythonJson(item)}`);
  return `{${pairs.join(", ")}}`;
}
