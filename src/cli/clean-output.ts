/**
 * What the program prints may hold names that come from files: of classes, domains, datasets, runs. Control characters in them would
 * reach the terminal, where they can move the cursor, hide text or set the window's title. So everything that is printed passes
 * here, and such characters are written out as escapes.
 *
 * Lines that replace each other (progress) begin with a carriage return and end by erasing the rest of the line; these stay, at
 * the beginning and the end of what is written at once, and nowhere else.
 */

import { showText } from "../data/show-name.js";

const BEGINNINGS = ["\r\x1b[K", "\r", "\x1b[H\x1b[2J"];
const END = "\x1b[K";

/** The text with control characters written out, but for those of the program's own progress lines. */
export function cleanText(text: string): string {
  const begin = BEGINNINGS.find((own) => text.startsWith(own)) ?? "";
  const rest = text.slice(begin.length);
  const end = rest.endsWith(END) ? END : "";
  return begin + showText(rest.slice(0, rest.length - end.length)) + end;
}

/** Cleans every text that is written to these streams from now on; bytes pass as they are. */
export function cleanOutput(streams: readonly NodeJS.WriteStream[]): void {
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? cleanText(chunk) : chunk, ...rest)) as typeof stream.write;
  }
}
