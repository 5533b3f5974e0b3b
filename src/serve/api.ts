/** The messages between the server of `nudge serve` and its page. */

/** `POST /predict` with a picture's bytes. */
export interface PredictedPicture {
  readonly class: string;
  readonly probability: number;
  /**
   * Why the prediction should not be trusted: the picture is far from training, or the model is too uncertain; null
   * otherwise.
   */
  readonly unknown: "far" | "uncertain" | null;
  readonly top: readonly { readonly label: string; readonly probability: number }[];
  readonly distance: { readonly score: number; readonly percentile: number; readonly nearest: string } | null;
  /** Whether the file is truncated, so that only its readable part was used. */
  readonly truncated: boolean;
}

/** The response, with status 422, to a picture that cannot be read. */
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
  /** The limits of the distance percentile and of the probability beyond which a picture is marked as unknown. */
  readonly unknown: { readonly distance: number | null; readonly probability: number | null };
  readonly mostBytes: number;
}
