/** The few pieces of Markdown that the reference is made of. */

/** The line at the top of every page. */
export const MADE = "<!-- Made by `npm run docs` from the program's own tables: change those, not this file. -->";

/** A page: its heading, a paragraph, and what follows. @param {string} heading @param {string[]} parts */
export const page = (heading, ...parts) =>
  `${[MADE, `# ${heading}`, ...parts].filter((part) => part !== "").join("\n\n")}\n`;

/** A table; empty where it has no rows. @param {string[]} heads @param {string[][]} rows */
export function table(heads, rows) {
  if (rows.length === 0) return "";
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  const cell = (/** @type {string} */ text) => text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
  return [line(heads), line(heads.map(() => "---")), ...rows.map((row) => line(row.map(cell)))].join("\n");
}

/** Text as it is typed. @param {unknown} text */
export const code = (text) => (text === "" || text === undefined ? "" : `\`${text}\``);

/** An address in running text as a link. @param {string} text */
export const linked = (text) => text.replaceAll(/https?:\/\/[^\s,;)]+/g, (address) => `<${address}>`);

/** A number as `nudge list` prints it: 1/3 as 0.333333. @param {unknown} value */
export const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value));
