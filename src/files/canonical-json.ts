/**
 * Canonical JSON: equal values give equal texts, with sorted keys and no spaces (RFC 8785). Settings and splits are
 * hashed in this form, so that hashes do not depend on the order of keys.
 */
import { hash } from "node:crypto";
import { UsageError } from "../errors.js";

/** Cached texts of immutable objects that are hashed often. */
export type KnownTexts = WeakMap<object, string>;

/** The canonical JSON of plain data. Keys with the value undefined are omitted. */
export function canonicalJson(value: unknown, known?: KnownTexts): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new UsageError(`canonical JSON: expected finite numbers, got ${value}`);
    return JSON.stringify(value); // RFC 8785 uses JavaScript's number format
  }
  const text = known?.get(value as object);
  if (text !== undefined) return text;
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, known)).join(",")}]`;
  if (typeof value === "object" && isPlain(value)) {
    const record = value as Readonly<Record<string, unknown>>;
    let text = "";
    // Sorted by UTF-16 code units, as the RFC requires and JavaScript does. One loop, because sweeps compute hundreds
    // of thousands of hashes.
    for (const key of Object.keys(record).sort())
      if (record[key] !== undefined)
        text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(record[key], known)}`;
    return `{${text}}`;
  }
  const kind = typeof value === "object" ? value.constructor.name : typeof value;
  throw new UsageError(`canonical JSON: expected plain data, got ${kind}`);
}

/** Whether a value is a plain object. The fields of a class instance would be incomplete. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** The first 16 hexadecimal digits of the SHA-256 of a value's canonical JSON. */
export function shortHash(value: unknown, known?: KnownTexts): string {
  return textHash(canonicalJson(value, known));
}

/** The same hash for an existing canonical JSON text. */
export function textHash(text: string): string {
  return hash("sha256", text, "hex").slice(0, 16);
}
