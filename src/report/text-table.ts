/** A table as texts that every format can print: description, headings and cells. */
export interface TextTable {
  readonly title: string;
  readonly words: readonly string[];
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
  /** By default cells are right-aligned, like numbers. */
  readonly align?: "left";
}
