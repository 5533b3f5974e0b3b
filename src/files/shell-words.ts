/** Paths and other texts as a POSIX shell reads them back. */

/** Text as one word of a shell command. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A command line of these words. */
export const quoteWords = (words: readonly string[]): string => words.map(shellWord).join(" ");
