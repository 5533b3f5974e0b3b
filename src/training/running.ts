/** A run while it runs: what the loop, its evaluations and its end share. */

import type { Follower } from "../averaging/index.js";
import type { Loader } from "../data/loader.js";
import type { Plan } from "../settings/resolve.js";
import type { Progress } from "./checkpoint.js";
import type { FeatureProbe } from "./feature-measures.js";
import type { Learner } from "./learner.js";
import type { Reporter } from "./reporter.js";
import type { RunFolder } from "./run-folder.js";
import type { Samples } from "./samples.js";

export interface Running {
  /** With the split of the samples. */
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly reporter: Reporter;
  readonly samples: Samples;
  readonly loader: Loader;
  /** A few pictures of each training domain as they are. */
  readonly plain: Loader;
  readonly learner: Learner;
  readonly followers: readonly Follower[];
  readonly probe: FeatureProbe;
  /** What a checkpoint holds besides tensors. */
  progress: Progress;
  /** Something to be read now, and in the log later. */
  readonly say: (text: string) => void;
  /** Between batches of what takes long: signals and timers have their turn, and a wish to stop is a `StoppedError`. */
  readonly pause: () => Promise<void>;
}
