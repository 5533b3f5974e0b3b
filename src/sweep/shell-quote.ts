/** A command line as a POSIX shell reads it back. */

import { shellWord } from "../report/names.js";

export const quoteWords = (words: readonly string[]): string => words.map(shellWord).join(" ");
