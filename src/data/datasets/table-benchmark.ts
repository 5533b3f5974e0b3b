/**
 * A published benchmark whose pictures are listed in a CSV table, as in WILDS. A domain is all rows with one value of a
 * column, over the whole table, as in DomainBed; the splits of WILDS are not used. A row whose picture is missing is
 * skipped and reported.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DataError } from "../../errors.js";
import { readText } from "../../files/open-file.js";
import { type DatasetDefinition, defineDataset, type PictureDomain, type Published } from "../dataset.js";
import { findFolderWith } from "../discover.js";
import { parseCsv } from "../manifest-csv.js";
import { countOf, listNames, showName } from "../show-name.js";

/** One picture of a table. */
export interface TableRow {
  /** The index of its domain. */
  readonly domain: number;
  readonly label: number;
  /** The path relative to the dataset's folder. */
  readonly file: string;
}

interface TableFacts extends Omit<DatasetDefinition, "needsRoot" | "options" | "open" | "published"> {
  readonly published: Published & { readonly classes: readonly string[] };
  /** The files and folders that identify the dataset's folder. */
  readonly entries: readonly string[];
  /** The folder of the pictures, which are up to one level deep. */
  readonly pictures: string;
  /** The rows of the table, and notes on them. */
  read(table: (name: string, columns: readonly string[]) => Table): {
    rows: Iterable<TableRow>;
    notes?: readonly string[];
  };
}

/** The values of a CSV table by column, as strings. */
export interface Table {
  readonly length: number;
  value(row: number, column: string): string;
}

export interface TableBenchmark extends DatasetDefinition {
  readonly published: Published;
  /** Whether a folder contains the dataset, at or up to two levels below it. */
  isIn(root: string): Promise<boolean>;
}

/** Declares a benchmark. */
export function tableBenchmark({ entries, pictures, read, ...facts }: TableFacts): TableBenchmark {
  const { id, title, published } = facts;
  const locate = (root: string): Promise<string | undefined> => findFolderWith(root, entries);
  const definition = defineDataset({
    ...facts,
    needsRoot: true,
    options: {},
    async open({ root, options }) {
      const folder = await locate(root);
      if (folder === undefined)
        throw new DataError(
          `dataset ${id}: expected ${entries.join(", ")} in ${showName(root)} or up to two levels below; found no such folder`,
        );
      const { rows, notes = [] } = read((name, columns) => readTable(join(folder, name), columns));
      const there = await filesIn(folder, pictures);
      const files: string[][] = published.domains.map(() => []);
      const labels: number[][] = published.domains.map(() => []);
      const missing: string[] = [];
      for (const { domain, label, file } of rows)
        if (!there.has(file)) missing.push(file);
        else {
          files[domain].push(file);
          labels[domain].push(label);
        }
      const domains = published.domains.map(
        ({ name }, i): PictureDomain => ({
          name,
          count: files[i].length,
          files: files[i],
          labels: Int32Array.from(labels[i]),
        }),
      );
      const empty = domains.filter(({ count }) => count === 0).map(({ name }) => name);
      if (empty.length > 0)
        throw new DataError(
          `dataset ${id} in ${showName(folder)}: ${listNames(empty)} ${empty.length === 1 ? "has" : "have"} no pictures`,
        );
      const left = `${countOf(missing.length, "row")} of the table skipped, whose pictures are not there (${listNames(missing, 2)})`;
      return {
        id,
        title,
        kind: "pictures",
        root: folder,
        hasDomains: true,
        inputShape: [3, 224, 224],
        augmentable: true,
        options,
        classes: published.classes,
        domains,
        notes: [...notes, ...(missing.length > 0 ? [left] : [])],
      };
    },
  });
  return { ...definition, published, isIn: async (root) => (await locate(root)) !== undefined };
}

function readTable(path: string, columns: readonly string[]): Table {
  let text: string;
  try {
    text = readText(path);
  } catch (cause) {
    throw new DataError(`table ${showName(path)}: could not be read (${(cause as Error).message})`, { cause });
  }
  const [header, ...records] = parseCsv(text, `table ${showName(path)}`);
  const places = new Map(header?.fields.map((name, i) => [name, i]));
  const lacking = columns.filter((name) => !places.has(name));
  if (lacking.length > 0)
    throw new DataError(
      `table ${showName(path)}: expected columns ${listNames(columns, 20)}; ${listNames(lacking)} missing`,
    );
  return {
    length: records.length,
    value: (row, column) => records[row].fields[places.get(column)!] ?? "",
  };
}

/** The files of a folder and of its subfolders, by their paths relative to the dataset's folder. */
async function filesIn(root: string, folder: string): Promise<Set<string>> {
  const found = new Set<string>();
  const add = async (path: string, below: boolean): Promise<void> => {
    for (const entry of await readdir(join(root, path), { withFileTypes: true })) {
      if (!entry.isDirectory()) found.add(`${path}/${entry.name}`);
      else if (below) await add(`${path}/${entry.name}`, false);
    }
  };
  await add(folder, true);
  return found;
}
