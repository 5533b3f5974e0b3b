/**
 * The fenced blocks of a Markdown document. One that is marked `sh runnable` or `js runnable` is run by tests as it is written
 * (tests/e2e/readme.test.ts); `runnable long` only by `npm run test:all`. Renderers read the first word and ignore the rest.
 */

export interface FencedBlock {
  /** The first word after the fence: `sh`, `js`, or nothing. */
  readonly language: string;
  readonly runnable: boolean;
  readonly long: boolean;
  readonly body: string;
  /** The number of its first line in the document. */
  readonly line: number;
}

const MARKS = ["runnable", "long"];

/** All blocks, in order. A mark that is not known is an error: misspelt, it would never be run. */
export function fencedBlocks(text: string): FencedBlock[] {
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [, info, body] = match;
    const [language, ...marks] = info.trim().split(/\s+/);
    const line = text.slice(0, match.index).split("\n").length + 1;
    const unknown = marks.find((mark) => !MARKS.includes(mark));
    if (unknown !== undefined || (marks.length > 0 && marks[0] !== "runnable"))
      throw new Error(
        `line ${line - 1}: \`\`\`${info}: expected a language, then runnable or runnable long, or nothing`,
      );
    return { language, runnable: marks.length > 0, long: marks.includes("long"), body, line };
  });
}
