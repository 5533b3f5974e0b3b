/**
 * Names from files (of classes, domains, datasets, runs) appear in what the program prints. Control characters in such
 * names could move the cursor, hide text or set the title of the terminal window. All output therefore passes through
 * this file, which prints control characters as escape sequences.
 *
 * Progress lines that replace each other begin with a carriage return and end by erasing the rest of the line. These
 * sequences are kept at the beginning and at the end of one write, and nowhere else.
 */

import { showText } from "../data/show-name.js";

const BEGINNINGS = ["\r\x1b[K", "\r", "\x1b[H\x1b[2J"];
const END = "\x1b[K";

/** The text with control characters escaped, except those of the program's own progress lines. */
export function cleanText(text: string): string {
  const begin = BEGINNINGS.find((own) => text.startsWith(own)) ?? "";
  const rest = text.slice(begin.length);
  const end = rest.endsWith(END) ? END : "";
  return begin + showText(rest.slice(0, rest.length - end.length)) + end;
}

/** Escapes control characters in all text that is written to these streams from now on. Bytes are not changed. */
export function cleanOutput(streams: readonly NodeJS.WriteStream[]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? cleanText(chunk) : chunk, ...rest)) as typeof stream.write;
  }
}
