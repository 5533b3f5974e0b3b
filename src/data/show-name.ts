/** Formats names of files and classes for messages, so that a message stays one readable line. */

/** A name for printing: line breaks, other control characters and invisible characters are escaped. */
export function showName(name: string): string {
  return name.replace(/\p{C}|[\u2028\u2029]/gu, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\r") return "\\r";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** Control characters and those that change the text direction, except line feeds, tabs, and the line ends of CSV. */
const DANGEROUS = /(?!\r\n|\n|\t)\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A text that may contain names and several lines: control characters and those that change the text direction are
 * escaped. Line feeds, tabs, and carriage returns before a line feed, which CSV uses, are kept.
 */
export const showText = (text: string): string => text.replace(DANGEROUS, showName);

/** A text of one line, such as a line of a log: line breaks in the names in it cannot begin another line. */
export const showLine = (text: string): string => showText(text).replace(/[\r\n\u2028\u2029]/g, showName);

/** JSON with the same characters escaped as JSON does it, so that a program reads the original text. */
export const showJson = (json: string): string =>
  json.replace(DANGEROUS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Bytes that are not valid UTF-8, for printing: `caf\xe9.jpg`. */
export function showBytes(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`,
  ).join("");
}

/** Some names for a message: the first few, and the number of others. */
export function listNames(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).map((name) => `"${showName(name)}"`);
  const left = names.length - shown.length;
  return left > 0 ? `${shown.join(", ")} and ${left} more` : shown.join(", ");
}

/** `1 picture`, `2,048 pictures`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
