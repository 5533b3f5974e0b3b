import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import type { Dataset } from "../data/dataset.js";
import { type GivenKeys, keys, type Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { Options } from "../options.js";
import type { Method } from "./method.js";
import { declaredHparams } from "./values-of-run.js";

/** Rejects settings that a probe does not support: its samples are features of pictures, computed once. */
export function checkProbe(
  dataset: Dataset,
  algorithm: AlgorithmDefinition,
  hparams: Readonly<Record<string, unknown>>,
): void {
  if (dataset.kind !== "pictures")
    throw new UsageError(
      `probe: expected a dataset of picture files, whose features can be cached; ${dataset.id} has none`,
    );
  if (algorithm.backbone)
    throw new UsageError(
      `probe: ${algorithm.title} needs more than the features of the backbone, which are all that a probe has; choose any algorithm except ${notProbed()}`,
    );
  if (hparams.dataAugmentation)
    throw new UsageError(
      "probe: features are computed once, from pictures without augmentation; remove dataAugmentation=true",
    );
}

/** The exact probe is logistic regression: its loss is convex, and no other loss is supported. */
export function checkExact({ algorithm, regularizers, averaging }: Method): void {
  const other = [...(algorithm.id === "erm" ? [] : [algorithm]), ...regularizers, ...averaging][0];
  if (other)
    throw new UsageError(
      `the exact probe is logistic regression and does not support ${other.title}; use --probe sgd to train a linear classifier with that loss, or remove ${other.title}`,
    );
}

/** Refuses given settings that the exact probe does not use. */
export function checkExactUses(given: Request): void {
  const hparams: Options = declaredHparams(undefined);
  const declarations: Options = { ...hparams, ...keys };
  const unused = Object.keys(declarations).find((name) => declarations[name].ofUpdates && given[name] !== undefined);
  if (unused !== undefined)
    throw new UsageError(
      `${unused}: the exact probe is solved to convergence without updates of gradient descent, so it does not use ${unused}; set probeC for its strength, or use --probe sgd`,
    );
}

/** Checks that the classifier can be initialized with the exact probe. */
export function checkHeadFirst(dataset: Dataset, hparams: Readonly<Record<string, unknown>>): void {
  if (dataset.kind !== "pictures")
    throw new UsageError(
      `headFirst: expected a dataset of picture files, to whose features the classifier can be fitted; ${dataset.id} has none`,
    );
  if (hparams.nonlinearClassifier)
    throw new UsageError(
      "headFirst: the exact probe is linear, so a classifier with nonlinearClassifier=true cannot start from it",
    );
}

/** Checks that a run can train again after validation has chosen its length. */
export function checkRetrain(
  { probe, trainOnAll }: Pick<GivenKeys, "probe" | "trainOnAll">,
  { averaging }: Method,
): void {
  if (probe)
    throw new UsageError(
      "retrain: a probe is not trained again; the exact probe is fitted to all pictures with refit=true",
    );
  if (trainOnAll) throw new UsageError("retrain: with trainOnAll=true no pictures are left for validation; remove one");
  if (averaging.length > 0)
    throw new UsageError(
      `retrain: validation chooses the step of the trained weights and not that of ${averaging[0].title}; remove ${averaging[0].title}, or use ERM++, which averages on its own`,
    );
}

/** The number of updates that train only the classifier, checked. */
export function headStepsOf(asked: number, { probe, steps }: { probe: unknown; steps: number }): number {
  if (probe) throw new UsageError(`headFirst ${asked}: a probe trains only its classifier; remove headFirst`);
  if (asked < steps) return asked;
  throw new UsageError(
    `headFirst ${asked}: expected fewer updates of the classifier alone than the ${steps} steps of the run`,
  );
}

/** The picture size for evaluation, if it differs from the training size. */
export function evaluationSizeOf(asked: number | undefined, { id, kind, inputShape }: Dataset): number | undefined {
  if (asked === undefined || asked === inputShape[1]) return undefined;
  if (kind === "pictures") return asked;
  throw new UsageError(`evaluationSize: expected a dataset of picture files, which can be resized; ${id} has none`);
}

/** The algorithms that change the input of the backbone or its inner layers. */
const notProbed = (): string =>
  Object.values(algorithms)
    .flatMap(({ title, backbone }) => (backbone ? [title] : []))
    .join(", ");
