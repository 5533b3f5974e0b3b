import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import type { Dataset } from "../data/dataset.js";
import { UsageError } from "../errors.js";
import type { Method } from "./method.js";

/** What a probe cannot do: its samples are pictures' features, computed once. */
export function checkProbe(
  dataset: Dataset,
  algorithm: AlgorithmDefinition,
  hparams: Readonly<Record<string, unknown>>,
): void {
  if (dataset.kind !== "pictures")
    throw new UsageError(`probe: expected pictures in files, whose features can be kept; ${dataset.id} has none`);
  if (algorithm.backbone)
    throw new UsageError(
      `probe: ${algorithm.title} needs more of the backbone than its features, which are all that a probe has; take another algorithm, any but ${notProbed()}`,
    );
  if (hparams.dataAugmentation)
    throw new UsageError("probe: features are computed once, of pictures as they are; leave out dataAugmentation=true");
}

/** The exact probe is logistic regression: its loss is convex, and it knows no other. */
export function checkExact({ algorithm, regularizers, averaging }: Method): void {
  const other = [...(algorithm.id === "erm" ? [] : [algorithm]), ...regularizers, ...averaging][0];
  if (other)
    throw new UsageError(
      `the exact probe is logistic regression, and takes no ${other.title}: train a linear map under that loss with --probe sgd, or do without it`,
    );
}

/** What a classifier needs that is to start as the exact probe. */
export function checkHeadFirst(dataset: Dataset, hparams: Readonly<Record<string, unknown>>): void {
  if (dataset.kind !== "pictures")
    throw new UsageError(
      `headFirst: expected pictures in files, to whose features the classifier can be fitted; ${dataset.id} has none`,
    );
  if (hparams.nonlinearClassifier)
    throw new UsageError("headFirst: the exact probe is linear, so nonlinearClassifier=true cannot start from it");
}

/** The updates that move the classifier alone, checked. */
export function headStepsOf(asked: number, { probe, steps }: { probe: unknown; steps: number }): number {
  if (probe) throw new UsageError(`headFirst ${asked}: a probe trains nothing else than its head; leave headFirst out`);
  if (asked < steps) return asked;
  throw new UsageError(
    `headFirst ${asked}: the run has ${steps} steps; expected fewer for the classifier alone than that`,
  );
}

/** The size for evaluation, where it is another than the one that is trained on. */
export function evaluationSizeOf(asked: number | undefined, { id, kind, inputShape }: Dataset): number | undefined {
  if (asked === undefined || asked === inputShape[1]) return undefined;
  if (kind === "pictures") return asked;
  throw new UsageError(`evaluationSize: expected pictures in files, which can be read in any size; ${id} has none`);
}

/** The algorithms that work on what goes into the backbone or on in it. */
const notProbed = (): string =>
  Object.values(algorithms)
    .flatMap(({ title, backbone }) => (backbone ? [title] : []))
    .join(", ");
