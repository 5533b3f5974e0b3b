/**
 * One text for one value: JSON with sorted keys and no spaces (RFC 8785). Hashes of settings and splits are hashes of it,
 * so that they do not depend on the order in which an object was put together.
 */
import { createHash } from "node:crypto";
import { UsageError } from "./errors.js";

/** The canonical JSON of plain data; a key whose value is undefined is left out. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new UsageError(`canonical JSON: expected finite numbers, got ${value}`);
    return JSON.stringify(value); // RFC 8785 takes JavaScript's text of numbers
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && isPlain(value)) {
    const pairs = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)) // by UTF-16 units, as the RFC says
      .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
    return `{${pairs.join(",")}}`;
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
export function shortHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value), "utf8").digest("hex").slice(0, 16);
}
