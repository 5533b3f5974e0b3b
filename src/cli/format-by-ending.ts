/**
 * Selects the format of an output file: the requested one, otherwise the one that the file name ends in, otherwise the
 * default.
 */

import { extname } from "node:path";
import { showName } from "../data/show-name.js";
import { UsageError } from "../errors.js";

export interface FormatChoice<T extends string> {
  readonly asked?: T;
  /** The output file; undefined if there is none. */
  readonly file?: string;
  readonly known: readonly T[];
  readonly usual: T;
  /** Another file ending of the default format. */
  readonly usualEnding?: string;
}

/** The format. It refuses a name such as `rows.csv` for another format, because only the next program would notice. */
export function formatFor<T extends string>({ asked, file, known, usual, usualEnding }: FormatChoice<T>): T {
  const ending = file === undefined ? "" : extname(file).slice(1).toLowerCase();
  const format = asked ?? known.find((name) => name === ending);
  if (format !== undefined) return format;
  if (file === undefined || ending === "" || ending === usualEnding) return usual;
  throw new UsageError(
    `${showName(file)}: unknown file ending .${showName(ending)}; use a name that ends in ${known.map((name) => `.${name === usual ? (usualEnding ?? name) : name}`).join(", ")}, or choose the format with --format`,
  );
}
