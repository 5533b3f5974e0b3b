/** Which format a file is written in: the one that was asked for, else the one its name ends in, else the usual one. */

import { extname } from "node:path";

export interface FormatChoice<T extends string> {
  readonly asked?: T;
  /** The file to be written; undefined where there is none. */
  readonly file?: string;
  readonly known: readonly T[];
  readonly usual: T;
}

/** The format. A file called `rows.csv` that holds something else would be found out by the next program only. */
export function formatFor<T extends string>({ asked, file, known, usual }: FormatChoice<T>): T {
  const ending = file === undefined ? "" : extname(file).slice(1).toLowerCase();
  return asked ?? known.find((name) => name === ending) ?? usual;
}
