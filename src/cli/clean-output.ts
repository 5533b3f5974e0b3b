/**
 * Names from files (of classes, domains, datasets, runs) appear in what the program prints. Control characters in such
 * names could move the cursor, hide text or set the title of the terminal window. All output therefore passes through
 * this file, which prints control characters as escape sequences.
 *
 * Progress lines that replace each other begin with a carriage return and end by erasing the rest of the line. These
 * sequences are kept at the beginning and at the end of one write, and nowhere else.
 *
 * On a terminal, prose is wrapped at its width. Output to a file or a pipe is not.
 */

import { showJson, showText } from "../data/show-name.js";
import { cutLine, wrapProse } from "./wrap-prose.js";

const BEGINNINGS = ["\r\x1b[K", "\r", "\x1b[H\x1b[2J"];
const END = "\x1b[K";

type Stream = NodeJS.WriteStream & { readonly fd: number };

/**
 * The text with control characters escaped, except those of the program's own progress lines. With a width, prose is
 * wrapped at it, and progress lines are cut.
 */
export function cleanText(text: string, width?: number): string {
  const begin = BEGINNINGS.find((own) => text.startsWith(own)) ?? "";
  const rest = text.slice(begin.length);
  const end = rest.endsWith(END) ? END : "";
  const clean = showText(rest.slice(0, rest.length - end.length));
  if (!width) return begin + clean + end;
  return begin + (end ? cutLine(clean, width) : wrapProse(clean, width)) + end;
}

/**
 * Escapes control characters in all text that is written to these streams from now on, and wraps the prose of those
 * that are terminals. Bytes are not changed.
 */
export function cleanOutput(streams: readonly Stream[], args: readonly string[] = []): void {
  const isForPrograms =
    (args[0] === "completion" && args[1]?.startsWith("-") === false) ||
    args.some((arg) => /^--(json|format)(=|$)/.test(arg));
  const isJson = /(^| )--(json|format[ =]jsonl?)( |$)/.test(args.join(" "));
  for (const stream of streams) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    const wraps = stream.isTTY && !(isForPrograms && stream.fd === 1);
    const clean = (text: string): string =>
      isJson && stream.fd === 1 ? showJson(text) : cleanText(text, wraps ? stream.columns : undefined);
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === "string" ? clean(chunk) : chunk, ...rest)) as typeof stream.write;
  }
}
