/**
 * A manifest: a list of pictures with their labels, domains and, if wished, split.
 *
 * CSV with a header line, columns in any order:
 *
 * ```csv
 * path,label,domain,split
 * scans/0001.png,healthy,clinic-a,in
 * "scans/with, comma.png",ill,clinic-b,out
 * ```
 *
 * or JSONL, an object a line: `{"path": "scans/0001.png", "label": "healthy", "domain": "clinic-a"}`. Paths start from the
 * manifest's own folder. Without `domain` there is one domain; `split` is `in` or `out` (or `train`, `val`), or `uda`.
 */
import { unknownName } from "../closest-name.js";
import { DataError } from "../errors.js";
import { readBytes } from "../files/open-file.js";
import { parseCsv } from "./manifest-csv.js";
import { listNames, showName } from "./show-name.js";
import type { SplitName } from "./split.js";

/** A line of a manifest. */
export interface ManifestEntry {
  readonly line: number;
  /** As written, with forward slashes. */
  readonly path: string;
  readonly label: string;
  readonly domain?: string;
  readonly split?: SplitName;
}

export interface Manifest {
  readonly entries: readonly ManifestEntry[];
  readonly notes: readonly string[];
}

const columns = ["path", "label", "domain", "split"] as const;
type Column = (typeof columns)[number];
const isColumn = (name: string): name is Column => (columns as readonly string[]).includes(name);

/** Common names of splits. */
const splitNames: Readonly<Record<string, SplitName>> = {
  in: "in",
  train: "in",
  training: "in",
  out: "out",
  val: "out",
  valid: "out",
  validation: "out",
  uda: "uda",
};

/** The values of one line, as text; undefined for missing columns. */
type Row = { readonly line: number } & { readonly [Name in Column]?: string };

function readCsv(text: string, source: string): { rows: Row[]; extra: string[] } {
  const [header, ...records] = parseCsv(text, source);
  if (!header)
    throw new DataError(`${source}: it is empty; expected a header line with path, label and optionally domain, split`);
  const names = header.fields.map((name) => name.trim().toLowerCase());
  for (const need of ["path", "label"])
    if (!names.includes(need))
      throw new DataError(
        `${source}, line ${header.line}: expected a header with the columns path, label and optionally domain, split; "${need}" is missing (got ${listNames(names)})`,
      );
  const twice = names.find((name, i) => isColumn(name) && names.indexOf(name) !== i);
  if (twice) throw new DataError(`${source}, line ${header.line}: column "${twice}" appears twice`);
  const rows = records.map(({ line, fields }) => {
    if (fields.length !== names.length)
      throw new DataError(
        `${source}, line ${line}: expected ${names.length} fields as in the header, got ${fields.length}`,
      );
    const known = names.flatMap((name, i) => (isColumn(name) ? [[name, fields[i]] as const] : []));
    return { line, ...Object.fromEntries(known) };
  });
  return { rows, extra: names.filter((name) => !isColumn(name)) };
}

function readJsonLines(text: string, source: string): { rows: Row[]; extra: string[] } {
  const extra = new Set<string>();
  const rows: Row[] = [];
  for (const [i, content] of text
    .replace(/^\ufeff/, "")
    .split("\n")
    .entries()) {
    if (content.trim() === "") continue;
    const line = i + 1;
    let value: unknown;
    try {
      value = JSON.parse(content);
    } catch (cause) {
      throw new DataError(`${source}, line ${line}: expected a JSON object (${(cause as Error).message})`, { cause });
    }
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new DataError(
        `${source}, line ${line}: expected a JSON object with path, label and optionally domain, split`,
      );
    const row: Partial<Record<Column, string>> = {};
    for (const [name, item] of Object.entries(value)) {
      if (!isColumn(name)) extra.add(name);
      else if (typeof item === "string" || (typeof item === "number" && name !== "path")) row[name] = String(item);
      else if (item !== null)
        throw new DataError(
          `${source}, line ${line}: expected "${name}" to be text, got ${JSON.stringify(item).slice(0, 40)}`,
        );
    }
    rows.push({ line, ...row });
  }
  return { rows, extra: [...extra] };
}

/** The lines that disagree on whether they have a value. */
function checkAllOrNone(rows: readonly Row[], column: "domain" | "split", source: string): void {
  const has = rows.find((row) => (row[column] ?? "") !== "");
  const lacks = rows.find((row) => (row[column] ?? "") === "");
  if (has && lacks)
    throw new DataError(
      `${source}, line ${lacks.line}: expected a ${column}, as line ${has.line} has; give one on every line or on none`,
    );
}

function toEntry(row: Row, source: string): ManifestEntry {
  const { line, path = "", label = "", domain = "", split = "" } = row;
  if (path === "") throw new DataError(`${source}, line ${line}: expected a path, got none`);
  if (path.includes("\0")) throw new DataError(`${source}, line ${line}: a path cannot contain a zero byte`);
  if (label === "") throw new DataError(`${source}, line ${line}: expected a label, got none`);
  const part = split.trim().toLowerCase();
  if (part !== "" && !Object.hasOwn(splitNames, part))
    throw new DataError(`${source}, line ${line}: ${unknownName("split", split, Object.keys(splitNames))}`);
  return {
    line,
    path: path.replace(/^(\.\/)+/, ""),
    label,
    ...(domain !== "" && { domain }),
    ...(part !== "" && { split: splitNames[part] }),
  };
}

/**
 * Parses the entries of a manifest. The extension of `source`, the name of the file, determines whether it is CSV or
 * JSONL.
 */
export function parseManifest(text: string, source: string): Manifest {
  const where = `manifest ${showName(source)}`;
  const { rows, extra } = /\.(jsonl|ndjson)$/i.test(source) ? readJsonLines(text, where) : readCsv(text, where);
  if (rows.length === 0) throw new DataError(`${where}: it lists no pictures`);
  checkAllOrNone(rows, "domain", where);
  checkAllOrNone(rows, "split", where);
  const entries = rows.map((row) => toEntry(row, where));
  const lines = new Map<string, number>();
  for (const { line, path } of entries) {
    const before = lines.get(path);
    if (before !== undefined)
      throw new DataError(
        `${where}, line ${line}: "${showName(path)}" is already on line ${before}; list each picture once`,
      );
    lines.set(path, line);
  }
  return { entries, notes: extra.length > 0 ? [`columns not used: ${listNames(extra)}`] : [] };
}

/** Whether a file is a manifest, by its name. */
export const isManifestName = (name: string): boolean => /\.(csv|jsonl|ndjson)$/i.test(name);

/** Reads a manifest. Bytes that are not UTF-8 are an error, because a path with a replaced letter cannot be opened. */
export function readManifest(file: string): Manifest {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readBytes(file));
  } catch (cause) {
    const why = cause instanceof TypeError ? "it is not UTF-8 text" : (cause as Error).message;
    throw new DataError(`manifest ${showName(file)}: could not be read (${why})`, { cause });
  }
  return parseManifest(text, file);
}
