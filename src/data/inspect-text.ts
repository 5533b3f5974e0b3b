/** An inspection as text for a terminal. */
import { byteText } from "../files/byte-text.js";
import type { FileProblem, Inspection, PictureSummary, Spread } from "./inspect.js";
import type { Duplicates } from "./inspect-duplicates.js";
import type { PicturePlace } from "./inspect-files.js";
import { countOf, showName } from "./show-name.js";

const number = (value: number): string => value.toLocaleString("en-US");

/** Columns of text: the first is left-aligned, the others right-aligned. */
export function tableText(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd(),
  );
}

/** `227`, or `37 … 227 … 1024`: minimum, median and maximum. */
function spreadText(spread: Spread | null): string {
  if (!spread) return "–";
  const { least, median, most } = spread;
  return least === most ? String(least) : `${least} … ${median} … ${most}`;
}

function formatsText({ formats }: PictureSummary): string {
  const names = Object.keys(formats);
  return names.length === 1 ? names[0] : names.map((name) => `${name} ${number(formats[name])}`).join(", ") || "–";
}

/** Counts by class and domain, with totals. */
function countRows({ domains, classes, counts, total }: Inspection): string[][] {
  const several = domains.length > 1;
  const sums = counts.map((row) => row.reduce((sum, each) => sum + each, 0));
  return [
    ["class", ...domains.map(showName), ...(several ? ["all"] : [])],
    ...classes.map((name, label) => {
      const cells = counts.map((row) => row[label]);
      const all = cells.reduce((sum, each) => sum + each, 0);
      return [showName(name), ...cells.map(number), ...(several ? [number(all)] : [])];
    }),
    ["all", ...sums.map(number), ...(several ? [number(total)] : [])],
  ];
}

/** The files of each domain: format, sizes, and special properties. */
export function pictureRows(domains: readonly string[], pictures: readonly PictureSummary[]): string[][] {
  const special: [string, keyof PictureSummary][] = [
    ["grey", "grey"],
    ["CMYK", "cmyk"],
    ["alpha", "alpha"],
    ["16-bit", "deep"],
    ["EXIF turn", "turned"],
  ];
  const shown = special.filter(([, key]) => pictures.some((each) => each[key] !== 0));
  return [
    ["domain", "format", "width", "height", "bytes", ...shown.map(([title]) => title)],
    ...pictures.map((each, d) => [
      showName(domains[d]),
      formatsText(each),
      spreadText(each.width),
      spreadText(each.height),
      byteText(each.bytes),
      ...shown.map(([, key]) => number(each[key] as number)),
    ]),
  ];
}

/** At most this number of lines of a list, and the number of others. */
function firstOf(lines: readonly string[], most = 10): string[] {
  const left = lines.length - most;
  return left > 1 ? [...lines.slice(0, most), `  … and ${number(left)} more (--json lists them all)`] : [...lines];
}

/** The kinds of duplicates with their headings, the most serious first. */
export function duplicateGroups(duplicates: Duplicates): { heading: string; groups: Duplicates[keyof Duplicates] }[] {
  const { acrossDomains, acrossClasses, withinClass } = duplicates;
  const describe = (groups: Duplicates[keyof Duplicates], rest: string) => ({
    heading: `${countOf(groups.length, "picture is", "pictures are")} ${rest}`,
    groups,
  });
  return [
    describe(acrossDomains, "in several domains (training would see pictures of a held-out domain)"),
    describe(acrossClasses, "in several classes of a domain (at least one label is wrong)"),
    describe(withinClass, "more than once in a class"),
  ].filter(({ groups }) => groups.length > 0);
}

/** Equal pictures in one line: the first few. */
export const groupText = (group: readonly PicturePlace[]): string =>
  firstFew(
    group.map(({ file }) => showName(file)),
    " = ",
  );

function firstFew(names: readonly string[], sign: string): string {
  const left = names.length - 6;
  return [...names.slice(0, 6), ...(left > 0 ? [`${number(left)} more`] : [])].join(sign);
}

/** The heading of groups of near-duplicates. */
export const nearDuplicatesHeading = (groups: readonly (readonly string[])[]): string =>
  `${countOf(groups.flat().length, "picture is a near-duplicate", "pictures are near-duplicates")} of others in the same class, in ${countOf(groups.length, "group")} (each group is used either for training or for validation)`;

/** Similar pictures in one line: the first few. */
export const nearDuplicatesText = (files: readonly string[]): string => firstFew(files.map(showName), " ≈ ");

function duplicateLines({ duplicates, nearDuplicates }: Inspection): string[] {
  if (!duplicates) return [];
  const lines = duplicateGroups(duplicates).flatMap(({ heading, groups }) => [
    `${heading}:`,
    ...firstOf(groups.map((group) => `  ${groupText(group)}`)),
  ]);
  if (nearDuplicates && nearDuplicates.length > 0)
    lines.push(
      `${nearDuplicatesHeading(nearDuplicates)}:`,
      ...firstOf(nearDuplicates.map((group) => `  ${nearDuplicatesText(group)}`)),
    );
  return lines.length > 0 ? lines : ["no duplicates"];
}

/** The text for one file and for several, by kind of problem. */
const headings: Readonly<Record<FileProblem["kind"], readonly [one: string, many: string]>> = {
  unusable: ["file cannot be used", "files cannot be used"],
  truncated: ["file looks truncated", "files look truncated"],
  damaged: [
    "file has damaged data, of which training uses what can be decoded",
    "files have damaged data, of which training uses what can be decoded",
  ],
  broken: ["file cannot be decoded", "files cannot be decoded"],
  misnamed: [
    "file has another format than its extension (the content counts)",
    "files have another format than their extension (the content counts)",
  ],
};

function problemLines({ problems, pictures, decoded, total }: Inspection): string[] {
  if (!pictures) return [];
  const lines = Object.entries(headings).flatMap(([kind, [one, many]]) => {
    const found = problems.filter((problem) => problem.kind === kind);
    if (found.length === 0) return [];
    const list = found.map(({ file, what }) => `  ${showName(file)}: ${what}`);
    return [`${countOf(found.length, one, many)}:`, ...firstOf(list)];
  });
  const how =
    decoded === null ? "judged by their first and last bytes; use --deep to decode them" : `${number(decoded)} decoded`;
  return lines.length > 0 ? lines : [`all ${number(total)} files look intact (${how})`];
}

/** The dataset in one line. */
export function headline({ id, title, root, domains, classes, total, hasDomains, pictures }: Inspection): string {
  const parts = [
    countOf(total, pictures ? "picture" : "sample"),
    hasDomains ? countOf(domains.length, "domain") : "no domains",
    countOf(classes.length, "class", "classes"),
    ...(pictures ? [byteText(pictures.reduce((sum, { bytes }) => sum + bytes, 0))] : []),
  ];
  return `${title} (${id})${root === null ? "" : ` in ${showName(root)}`}: ${parts.join(", ")}`;
}

/** The complete report. */
export function inspectionText(inspection: Inspection): string {
  const { domains, pictures, notes, credits } = inspection;
  const sections = [
    [headline(inspection)],
    tableText(countRows(inspection)),
    ...(pictures ? [tableText(pictureRows(domains, pictures))] : []),
    [...problemLines(inspection), ...duplicateLines(inspection)],
    notes.map((note) => `note: ${note}`),
    credits.length > 0 ? ["authors and licences:", ...credits.map((credit) => `  ${credit}`)] : [],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}
