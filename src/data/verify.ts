/** Compares a copy of a dataset with its published facts, and reports every difference and where to get the data. */

import { DataError, UsageError } from "../errors.js";
import { classCounts, type Dataset, type DatasetDefinition, type Published } from "./dataset.js";
import type { FolderBenchmark } from "./datasets/folder-benchmark.js";
import { plainName } from "./discover.js";
import { tableText } from "./inspect-text.js";
import { countOf, listNames, showName } from "./show-name.js";

/** One domain of a copy. */
export interface DomainCheck {
  readonly domain: string;
  /** The number of samples; null if the domain is missing. */
  readonly count: number | null;
  /** The expected number; null if it is not published. */
  readonly published: number | null;
}

export interface Verification {
  readonly id: string;
  readonly title: string;
  readonly root: string | null;
  /** Whether the copy agrees with the published facts. */
  readonly agrees: boolean;
  readonly domains: readonly DomainCheck[];
  readonly total: number;
  /** Null if no source states it. */
  readonly publishedTotal: number | null;
  readonly differences: readonly string[];
  /** Notes that are not differences. */
  readonly notes: readonly string[];
  readonly source: string;
  readonly licence: string;
  readonly paper: string;
}

const isFolderBenchmark = (definition: DatasetDefinition): definition is FolderBenchmark => "openPresent" in definition;

const more = (count: number, published: number): string => {
  const away = Math.abs(count - published).toLocaleString("en-US");
  return `${away} ${count > published ? "more" : "fewer"}`;
};

const number = (value: number): string => value.toLocaleString("en-US");
const pictures = (count: number): string => countOf(count, "picture");

/** Missing and additional class folders. */
function classDifferences(dataset: Dataset, published: Published): string[] {
  if (typeof published.classes === "number")
    return dataset.classes.length === published.classes
      ? []
      : [`${countOf(dataset.classes.length, "class", "classes")}, published ${published.classes}`];
  const known = new Map(published.classes.map((name) => [plainName(name), name]));
  const found = new Set(dataset.classes.map(plainName));
  const missing = [...known].filter(([plain]) => !found.has(plain)).map(([, name]) => name);
  const extra = dataset.classes.filter((name) => !known.has(plainName(name)));
  return [
    ...(missing.length > 0 ? [`missing ${missing.length === 1 ? "class" : "classes"} ${listNames(missing, 20)}`] : []),
    ...(extra.length > 0 ? [`unknown ${extra.length === 1 ? "class" : "classes"} ${listNames(extra, 20)}`] : []),
  ];
}

/** The differences of each domain: in number, and by class if that is published. */
function domainDifferences(dataset: Dataset, { domains, classes }: Published): string[] {
  return domains.flatMap(({ name, count: expected, perClass = [] }) => {
    const domain = dataset.domains.find((each) => each.name === name);
    if (!domain) return [`domain ${name} is missing`];
    const found: string[] = [];
    if (expected !== undefined && domain.count !== expected)
      found.push(`${pictures(domain.count)}, published ${number(expected)} (${more(domain.count, expected)})`);
    const counts = classCounts(domain, dataset.classes.length);
    const names = typeof classes === "number" ? [] : classes;
    for (const [i, cell] of perClass.entries()) {
      const count = counts[dataset.classes.indexOf(names[i])] ?? 0;
      if (count !== cell) found.push(`${names[i]} has ${number(count)} instead of ${number(cell)}`);
    }
    return found.length > 0 ? [`domain ${name}: ${found.join("; ")}`] : [];
  });
}

/** The difference in total, if any. A known other version of the dataset is a note instead. */
function totalDifference(counts: readonly (number | null)[], total: number, published: Published) {
  const other = published.alsoSeen?.find((seen) => seen.counts.every((count, i) => count === counts[i]));
  if (published.total === undefined)
    return { note: "no source states how many pictures there are: the names are verified" };
  if (other)
    return {
      note: `${pictures(total)} are ${other.what}; the papers have ${number(published.total)}, so say which was used`,
    };
  if (total === published.total) return {};
  const unapplied =
    total - published.total === published.duplicates
      ? ": as many as the list of duplicates has; give it with --duplicates FILE"
      : "";
  return {
    difference: `${pictures(total)} in all, published ${number(published.total)} (${more(total, published.total)}${unapplied})`,
  };
}

/** Compares an opened copy with the published facts. */
export function compareWithPublished(dataset: Dataset, definition: DatasetDefinition): Verification {
  const { published } = definition;
  if (!published) throw new UsageError(`dataset ${definition.id}: nothing is published to verify it against`);
  const total = dataset.domains.reduce((sum, { count }) => sum + count, 0);
  const counts = published.domains.map(({ name }) => dataset.domains.find((each) => each.name === name)?.count ?? null);
  const { difference, note } = totalDifference(counts, total, published);
  const differences = [
    ...classDifferences(dataset, published),
    ...domainDifferences(dataset, published),
    ...(difference ? [difference] : []),
  ];
  const notes = [...dataset.notes, ...(note ? [note] : [])];
  return {
    id: definition.id,
    title: definition.title,
    root: dataset.root,
    agrees: differences.length === 0,
    domains: published.domains.map(({ name, count }, i) => ({
      domain: name,
      count: counts[i],
      published: count ?? null,
    })),
    total,
    publishedTotal: published.total ?? null,
    differences,
    notes,
    source: definition.source,
    licence: definition.licence,
    paper: definition.paper,
  };
}

/**
 * Opens the existing parts of the copy in or below a folder, and compares them with the published facts. With `pixels`,
 * pictures that were rendered here are compared too.
 */
export async function verifyDataset(
  definition: DatasetDefinition,
  root: string,
  { pixels = false, ...options }: { duplicates?: string; pixels?: boolean } = {},
): Promise<Verification> {
  if (!definition.published)
    throw new UsageError(
      `dataset ${definition.id}: nothing is published to verify it against; nudge data inspect looks at any folder`,
    );
  try {
    const dataset = isFolderBenchmark(definition)
      ? await definition.openPresent(root, options)
      : await definition.open({ root, options: {} });
    const verification = compareWithPublished(dataset, definition);
    const others = pixels ? ((await definition.comparePixels?.(dataset)) ?? []) : [];
    const differences = [...verification.differences, ...others];
    return { ...verification, agrees: differences.length === 0, differences };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { source, licence } = definition;
    throw new DataError(`${error.message}\nwhere it can be had: ${source}\nlicence: ${licence}`, { cause: error });
  }
}

/** The verification as text for a terminal. */
export function verificationText(verification: Verification): string {
  const { id, title, root, agrees, domains, total, publishedTotal, differences, notes } = verification;
  const where = root === null ? "" : ` in ${showName(root)}`;
  const shown = (count: number | null): string => (count === null ? "–" : number(count));
  const sections = [
    [`${title} (${id})${where} ${agrees ? "agrees with" : "differs from"} what is published`],
    tableText([
      ["domain", "here", "published"],
      ...domains.map(({ domain, count, published }) => [domain, shown(count), shown(published)]),
      ["all", number(total), shown(publishedTotal)],
    ]),
    differences.map((difference) => `differs: ${difference}`),
    notes.map((note) => `note: ${note}`),
    [`where it can be had: ${verification.source}`, `licence: ${verification.licence}`, `paper: ${verification.paper}`],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}
