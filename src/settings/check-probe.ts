import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import type { Dataset } from "../data/dataset.js";
import { UsageError } from "../errors.js";

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

/** The algorithms that work on what goes into the backbone or on in it. */
const notProbed = (): string =>
  Object.values(algorithms)
    .flatMap(({ title, backbone }) => (backbone ? [title] : []))
    .join(", ");
