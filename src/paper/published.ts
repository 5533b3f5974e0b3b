/**
 * The numbers in the paper ("Domain Generalization via Nuclear Norm Regularization") with their sources. Most rows are
 * results of other papers that it quotes. They are percentages as printed; `data/published-tables.json` contains all of
 * them.
 */

import { readFileSync } from "node:fs";
import { DataError } from "../errors.js";
import { bareName } from "../settings/names.js";

export interface PublishedNumber {
  /** The mean in percent. */
  readonly mean: number;
  /** The standard error. Averages are printed without it. */
  readonly error: number | null;
  /** The source of the number according to the paper. */
  readonly source: string;
}

interface PublishedTable {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (Readonly<Record<string, { mean: number; se?: number }>> & {
    readonly id: string;
    readonly source?: string;
  })[];
}

/** The heading of the averages in the paper's tables. */
export const AVERAGE = "Average";

/** The paper's table of a dataset's domains, and the dataset's heading in its tables of averages. */
const DATASETS: Readonly<Record<string, { readonly table: string; readonly heading: string }>> = {
  vlcs: { table: "tab:vlcs", heading: "VLCS" },
  pacs: { table: "tab:pacs", heading: "PACS" },
  "office-home": { table: "tab:office", heading: "OfficeHome" },
  "terra-incognita": { table: "tab:terra", heading: "TerraInc" },
  "domain-net": { table: "tab:domain_net", heading: "DomainNet" },
};

/** The datasets in the paper's average. */
export const paperDatasets: readonly string[] = Object.keys(DATASETS);

let tables: readonly PublishedTable[] | undefined;

function readTables(): readonly PublishedTable[] {
  if (tables) return tables;
  const path = new URL("../../data/published-tables.json", import.meta.url);
  try {
    tables = JSON.parse(readFileSync(path, "utf8")) as PublishedTable[];
  } catch (cause) {
    throw new DataError(`reading the published tables ${path.pathname}: ${(cause as Error).message}`, { cause });
  }
  return tables;
}

function lookUp(label: string, method: string, column: string): PublishedNumber | null {
  const find = (wanted: string): PublishedTable["rows"][number] | undefined =>
    readTables()
      .find(({ table }) => table.split(" ")[0] === wanted)
      ?.rows.find(({ id }) => bareName(id) === bareName(method));
  const row = find(label);
  const value = row?.[column];
  if (!value) return null;
  const own = bareName(method).endsWith("nu") ? "this paper" : "as the paper quotes it";
  const source = find("tab:domain_bed")?.source ?? own;
  return { mean: value.mean, error: value.se ?? null, source: `${source}; ${label}` };
}

/** Returns the published accuracy of a method (`ERM-NU`) on a domain (by label) of a dataset, or its average. */
export function publishedDomain(dataset: string, method: string, label: string): PublishedNumber | null {
  return Object.hasOwn(DATASETS, dataset) ? lookUp(DATASETS[dataset].table, method, label) : null;
}

/**
 * Returns the published accuracy of a method on a dataset: from Table 1, otherwise from the SWAD tables, otherwise
 * (Mixup-NU) the average in the dataset's own table. Without a dataset, it is the mean over all five.
 */
export function publishedDataset(method: string, dataset?: string): PublishedNumber | null {
  const column = dataset === undefined ? AVERAGE : DATASETS[dataset]?.heading;
  if (column === undefined) return null;
  return (
    lookUp("tab:domain_bed", method, column) ??
    lookUp("tab:swad", method, column) ??
    (dataset === undefined ? null : publishedDomain(dataset, method, AVERAGE))
  );
}
