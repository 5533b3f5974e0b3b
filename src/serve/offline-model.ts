/** What the page of `nudge export --format web` knows of its model. It is in the page, as JSON. */

import type { Interpolation } from "../data/framing.js";
import type { ModelFacts } from "./api.js";

/** The part of a model's preprocessing that concerns sizes. */
export interface PixelFraming {
  /** The side of the input. */
  readonly size: number;
  readonly shortSide: number;
  /** The short side that is resized to before the centre is cropped; absent if the whole picture is resized. */
  readonly resize?: number;
  readonly interpolation?: Interpolation;
}

export interface OfflineModel extends Pick<ModelFacts, "classes" | "domains" | "backbone" | "unknown"> {
  readonly framing: PixelFraming;
}
