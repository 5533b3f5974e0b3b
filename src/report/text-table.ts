/** A table as texts that every format can print: words, heads and cells. */
export interface TextTable {
  readonly title: string;
  readonly words: readonly string[];
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
  /** Cells are set to the right, as numbers are, unless told. */
  readonly align?: "left";
}
