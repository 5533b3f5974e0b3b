/** What the service says and its page reads. */

/** `POST /predict` with a picture's bytes. */
export interface PredictedPicture {
  readonly class: string;
  readonly probability: number;
  /** Why the picture should not be trusted with the model: far from training, or too uncertain; null where it may be. */
  readonly unknown: "far" | "uncertain" | null;
  readonly top: readonly { readonly label: string; readonly probability: number }[];
  readonly distance: { readonly score: number; readonly percentile: number; readonly nearest: string } | null;
  /** Whether the file ended early and was read as far as it goes. */
  readonly truncated: boolean;
}

/** The answer, with status 422, to a picture that cannot be read. */
export interface UnreadablePicture {
  readonly problem: string;
}

/** `GET /model` */
export interface ModelFacts {
  readonly classes: readonly string[];
  /** The domains it was trained on. */
  readonly domains: readonly string[];
  readonly backbone: string;
  readonly dataset: string;
  readonly preprocessing: object;
  readonly temperature: number;
  /** Limits of the distance percentile and of the probability beyond which a picture is unknown. */
  readonly unknown: { readonly distance: number | null; readonly probability: number | null };
  readonly mostBytes: number;
}
