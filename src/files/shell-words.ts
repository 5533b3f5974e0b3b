/** Quotes paths and other texts for a POSIX shell. */

/** Quotes a text as one word of a shell command. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Joins words to a command line. */
export const quoteWords = (words: readonly string[]): string => words.map(shellWord).join(" ");
