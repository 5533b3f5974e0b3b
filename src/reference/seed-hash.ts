/**
 * The reference testbed's `seed_hash`: seeds derived from other seeds and names, by the MD5 of the text of a Python
 * tuple.
 *
 * `seedHash(785910682, "lr")` is the MD5 of `(785910682, 'lr')`, read as a big-endian number, modulo 2^31.
 */
import { hash } from "node:crypto";
import { numberText, type PythonFloat } from "./python-number.js";

/** The values that `seedHash` accepts: Python's ints, floats, strings, True, False, None, and lists of them. */
export type PythonValue = number | bigint | PythonFloat | string | boolean | null | readonly PythonValue[];

const shortEscapes: Record<string, string> = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\" };

/** Characters that Python's `repr` escapes: controls, formats, surrogates, unassigned, and spaces except " ". */
function escaped(character: string): string {
  if (character in shortEscapes) return shortEscapes[character];
  if (character === " " || !/[\p{C}\p{Z}]/u.test(character)) return character;
  const code = character.codePointAt(0)!.toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}

/** Characters that need no escape, whatever the quotes. */
const PLAIN = /^[\w .,:+-]*$/;

function stringText(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = Array.from(text, (character) => (character === quote ? `\\${quote}` : escaped(character)));
  return quote + inside.join("") + quote;
}

/** Python's `repr` of a value. */
export function pythonRepr(value: PythonValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return stringText(value);
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  return numberText(value as number | bigint | PythonFloat);
}

/** A seed from 0 to 2^31 − 1 for these values, as in the reference. */
export function seedHash(...values: PythonValue[]): number {
  const inside = values.map(pythonRepr).join(", ");
  const text = values.length === 1 ? `(${inside},)` : `(${inside})`;
  const digest = hash("md5", text, "buffer");
  return digest.readUInt32BE(12) % 0x8000_0000; // the last 31 bits of the number
}
