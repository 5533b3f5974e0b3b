/**
 * Reads CSV as defined by RFC 4180: comma-separated fields, quoted if they contain commas, quotes (doubled) or line
 * breaks; lines end in CRLF or LF. A byte-order mark at the start is skipped. Ambiguous input is an error with its line
 * number.
 */
import { DataError } from "../errors.js";

/** A record and the number of its first line, from 1. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** A line of CSV that `parseCsv` reads as these fields, unchanged: a manifest is for programs, not for spreadsheets. */
export const csvLine = (fields: readonly string[]): string =>
  `${fields.map((field) => (/[",\r\n\ufeff]|^\s*$/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",")}\n`;

/** The records of a CSV text. Empty lines are skipped. `source` is the name of the file, for errors. */
export function parseCsv(text: string, source: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  let line = 1;
  let begins = line;
  let fields: string[] = [];

  /** Reads a quoted field. `at` is after the opening quote, and then after the closing one. */
  function quoted(): string {
    const opened = line;
    let field = "";
    for (;;) {
      const end = text.indexOf('"', at);
      if (end < 0)
        throw new DataError(`${source}, line ${opened}: a quoted field is never closed; add the missing quote`);
      const part = text.slice(at, end);
      line += part.split("\n").length - 1;
      field += part;
      at = end + 1;
      if (text[at] !== '"') return field;
      field += '"';
      at++;
    }
  }

  /** Reads an unquoted field, up to the next comma or line end. */
  function plain(): string {
    const start = at;
    while (at < text.length && text[at] !== "," && text[at] !== "\n") at++;
    const field = text.slice(start, text[at] === "\n" && text[at - 1] === "\r" && at > start ? at - 1 : at);
    if (field.includes('"'))
      throw new DataError(
        `${source}, line ${line}: a quote inside an unquoted field; quote the whole field and double the quote`,
      );
    return field;
  }

  while (at < text.length) {
    if (text[at] === '"') {
      at++;
      fields.push(quoted());
      if (text[at] === "\r" && text[at + 1] === "\n") at++;
      if (at < text.length && text[at] !== "," && text[at] !== "\n")
        throw new DataError(`${source}, line ${line}: text after a closing quote; expected a comma or the line's end`);
    } else fields.push(plain());
    if (text[at] === "," && at + 1 < text.length) {
      at++;
      continue;
    }
    if (text[at] === ",") fields.push(""); // the file ends with a comma: there is one more, empty field
    if (fields.length > 1 || fields[0] !== "") records.push({ line: begins, fields });
    fields = [];
    at++;
    line++;
    begins = line;
  }
  return records;
}
