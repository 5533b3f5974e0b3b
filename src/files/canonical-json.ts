/**
 * One text for one value: JSON with sorted keys and no spaces (RFC 8785). Hashes of settings and splits are hashes of it,
 * so that they do not depend on the order in which an object was put together.
 */
import { createHash } from "node:crypto";
import { UsageError } from "../errors.js";

/** Texts of objects that are hashed again and again and never change. */
export type KnownTexts = WeakMap<object, string>;

/** The canonical JSON of plain data; a key whose value is undefined is omitted. */
export function canonicalJson(value: unknown, known?: KnownTexts): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new UsageError(`canonical JSON: expected finite numbers, got ${value}`);
    return JSON.stringify(value); // RFC 8785 takes JavaScript's text of numbers
  }
  const text = known?.get(value as object);
  if (text !== undefined) return text;
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, known)).join(",")}]`;
  if (typeof value === "object" && isPlain(value)) {
    const record = value as Readonly<Record<string, unknown>>;
    let text = "";
    // By UTF-16 units, as the RFC says, which is how JavaScript sorts; one loop, since sweeps hash by the hundred thousand.
    for (const key of Object.keys(record).sort())
      if (record[key] !== undefined)
        text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(record[key], known)}`;
    return `{${text}}`;
  }
  const kind = typeof value === "object" ? value.constructor.name : typeof value;
  throw new UsageError(`canonical JSON: expected plain data, got ${kind}`);
}

/** An object written in braces or read from JSON, and not one of some class, whose fields would say too little. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** The first 16 hexadecimal digits of the SHA-256 of a value's canonical JSON. */
export function shortHash(value: unknown, known?: KnownTexts): string {
  return textHash(canonicalJson(value, known));
}

/** The same of a canonical JSON that is there. */
export function textHash(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, 16);
}
