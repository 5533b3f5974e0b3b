/** Which format a file is written in: the one that was asked for, else the one its name ends in, else the usual one. */

import { extname } from "node:path";
import { showName } from "../data/show-name.js";
import { UsageError } from "../errors.js";

export interface FormatChoice<T extends string> {
  readonly asked?: T;
  /** The file to be written; undefined where there is none. */
  readonly file?: string;
  readonly known: readonly T[];
  readonly usual: T;
  /** Another ending that the usual format goes by. */
  readonly usualEnding?: string;
}

/** The format. A file called `rows.csv` that holds something else would be found out by the next program only. */
export function formatFor<T extends string>({ asked, file, known, usual, usualEnding }: FormatChoice<T>): T {
  const ending = file === undefined ? "" : extname(file).slice(1).toLowerCase();
  const format = asked ?? known.find((name) => name === ending);
  if (format !== undefined) return format;
  if (file === undefined || ending === "" || ending === usualEnding) return usual;
  throw new UsageError(
    `${showName(file)}: nothing is written as .${showName(ending)}; end the name in ${known.map((name) => `.${name === usual ? (usualEnding ?? name) : name}`).join(", ")}, or say what is meant with --format`,
  );
}
