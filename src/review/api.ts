/** What the review's server says and its page reads. */

/** `GET /items` */
export interface ReviewItems {
  readonly classes: readonly string[];
  /** Where the manifest is, and the command that trains by it. */
  readonly manifest: string;
  readonly command: string;
  readonly items: readonly ReviewItem[];
}

export interface ReviewItem {
  /** For `/picture?n=…` and `POST /mark?n=…&as=…`. */
  readonly n: number;
  readonly path: string;
  readonly domain: string;
  readonly label: string;
  readonly suggested: string;
  readonly probability: number;
  readonly given: number;
  /** What was decided: a class, null for removed; undefined while nothing is. */
  readonly mark?: string | null;
}
