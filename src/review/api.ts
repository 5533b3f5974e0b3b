/** The messages between the server of `nudge data review` and its page. */

/** `GET /items` */
export interface ReviewItems {
  /** Whether labels are checked, or given for the first time. */
  readonly task: "review" | "label";
  readonly classes: readonly string[];
  /** The path of the manifest, and the command that trains with it. */
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
  /** The decision: a class, or null for removed; undefined if there is none yet. */
  readonly mark?: string | null;
}
