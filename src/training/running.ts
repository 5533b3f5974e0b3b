/** A running run: the data that the training loop, its evaluations and its end share. */

import type { Follower } from "../averaging/index.js";
import type { Loader } from "../data/loader.js";
import type { ValidationLoss } from "../optim/index.js";
import type { Plan } from "../settings/resolve.js";
import type { Progress } from "./checkpoint.js";
import type { DevicePredictions } from "./device-predictions.js";
import type { FeatureProbe } from "./feature-measures.js";
import type { Learner } from "./learner.js";
import type { Reporter } from "./reporter.js";
import type { RunFolder } from "./run-folder.js";
import type { Samples } from "./samples.js";

export interface Running {
  /** The plan, with the split of the samples. */
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly reporter: Reporter;
  readonly samples: Samples;
  readonly loader: Loader;
  /** A loader for a few pictures of each training domain without augmentation. */
  readonly plain: Loader;
  readonly learner: Learner;
  /** The learner's predictions for evaluations. */
  readonly predictions: DevicePredictions;
  readonly followers: readonly Follower[];
  readonly probe: FeatureProbe;
  /** The contents of a checkpoint besides tensors. */
  progress: Progress;
  /** The validation losses so far, which a schedule can follow. */
  readonly losses: ValidationLoss[];
  /** Prints a message and writes it to the log. */
  readonly say: (text: string) => void;
  /**
   * Called between batches of long tasks: processes signals and timers, and throws a `StoppedError` if the run should
   * stop.
   */
  readonly pause: () => Promise<void>;
}
