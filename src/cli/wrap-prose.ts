/**
 * Prose at the width of a terminal: long lines break between words. Rows of tables, JSON and commands keep their lines,
 * because a break would make them harder to read or to copy.
 */

/** In a narrower terminal, nothing is wrapped. */
const NARROWEST = 40;
/** The minimum width of a description next to a name. A narrower one is printed on separate lines. */
const NARROWEST_DESCRIPTION = 20;

/** A command that follows a colon, words in backticks, or one word. */
const WORDS = /(?<=: )(?:nudge|node) .*?(?:\.(?= )|$)|`[^`]+`\S*|\S+/g;
/** Rows of Markdown tables, JSON and markup. */
const MARKUP = /^\s*[|{}[\]"<\\]/;
const COMMAND = /^\s*(?:nudge|node) /;

/** The text with its prose wrapped. Other lines do not change. */
export function wrapProse(text: string, width: number): string {
  if (width < NARROWEST) return text;
  return text
    .split("\n")
    .map((line) => wrapLine(line, width))
    .join("\n");
}

/** The beginning of a progress line, which must fit into one line of the terminal for the next one to replace it. */
export function cutLine(text: string, width: number): string {
  const characters = [...text];
  return characters.length < width ? text : `${characters.slice(0, Math.max(0, width - 2)).join("")}…`;
}

function wrapLine(line: string, width: number): string {
  if ([...line].length <= width || MARKUP.test(line)) return line;
  const [, indent, marker] = /^( *)((?:[-*] )?)/.exec(line)!;
  const [name, description, ...more] = line.slice(indent.length).split(/ {2,}(?=\S)/);
  if (more.length > 0) return line; // columns of a table
  if (description === undefined)
    return COMMAND.test(line) ? line : fill(name, indent, indent + " ".repeat(marker.length), width);
  const column = line.lastIndexOf(description);
  if (width - column >= NARROWEST_DESCRIPTION)
    return fill(description, line.slice(0, column), " ".repeat(column), width);
  const below = `${indent}    `;
  return `${indent}${name}\n${fill(description, below, below, width)}`;
}

/** The words in lines, of which the first begins with `first` and the others with `next`. */
function fill(text: string, first: string, next: string, width: number): string {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.match(WORDS) ?? []) {
    if (!isEmpty && [...line].length + 1 + [...word].length > width) {
      lines.push(line);
      [line, isEmpty] = [next, true];
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  const [end] = /\s*$/.exec(text)!; // the space before the answer to a question
  return [...lines, line + end].join("\n");
}
