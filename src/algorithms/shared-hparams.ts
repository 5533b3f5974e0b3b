/**
 * The hyperparameters every algorithm has, with the reference testbed's defaults and search ranges.
 *
 * They depend on the dataset: *small* ones (28 × 28 pictures, networks trained from scratch) and *large* ones (pretrained
 * networks), with DomainNet a large one of smaller batches. An algorithm or a regularizer may replace some of them.
 *
 * Not in the table of DomainBed, because they are other settings here: which backbone (`resnet18`, `resnet50_augmix`,
 * `vit`, `dinov2`) and what only ERM++ reads (`linear_steps`, `lars`).
 */
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { choice, type Hparam, hparam, powerOfTen, powerOfTwoInteger } from "../hparams.js";
import { number, whole } from "../options.js";

export type DatasetSize = "small" | "large";

/** The shared hyperparameters by name. */
export interface SharedHparams {
  readonly lr: Hparam<number>;
  readonly weightDecay: Hparam<number>;
  /** Pictures of each training domain in a batch. */
  readonly batchSize: Hparam<number>;
  /** On the backbone's features. */
  readonly dropout: Hparam<number>;
  readonly dataAugmentation: Hparam<boolean>;
  readonly classBalanced: Hparam<boolean>;
  readonly nonlinearClassifier: Hparam<boolean>;
  readonly freezeBatchNorm: Hparam<boolean>;
}

/** Hyperparameters that a dataset, an algorithm or a regularizer puts in the place of shared ones. */
export interface HparamOverrides extends Partial<Readonly<Record<DatasetSize, Readonly<Record<string, Hparam>>>>> {
  /** For single datasets, by their ids; they come before those by size. */
  readonly datasets?: Readonly<Record<string, Readonly<Record<string, Hparam>>>>;
}

/** The learning rate; DANN and CDANN have two more like it, `lr_g` and `lr_d`. */
export function learningRate(size: DatasetSize, reference = "lr"): Hparam<number> {
  const more = { reference, kind: number({ least: 0 }) };
  return size === "small" ? hparam(1e-3, powerOfTen(-4.5, -2.5), more) : hparam(5e-5, powerOfTen(-5, -3.5), more);
}

/** The weight decay; DANN and CDANN have one more like it, `weight_decay_g`. */
export function weightDecay(size: DatasetSize, reference = "weight_decay"): Hparam<number> {
  const more = { reference, kind: number({ least: 0 }) };
  return hparam(0, size === "small" ? choice([0]) : powerOfTen(-6, -2), more);
}

const batchSize = (value: number, from: number, to: number): Hparam<number> =>
  hparam(value, powerOfTwoInteger(from, to), {
    ...{ reference: "batch_size", kind: whole(1), help: "pictures of each training domain in a batch" },
  });

// The same for every dataset.
const common = {
  dropout: hparam(0, choice([0, 0.1, 0.5]), {
    ...{ reference: "resnet_dropout", kind: number({ least: 0, below: 1 }), help: "on the backbone's features" },
  }),
  dataAugmentation: hparam(true, choice([true]), {
    ...{ reference: "data_augmentation", help: "random crops, flips, colours and grey" },
  }),
  classBalanced: hparam(false, choice([false]), {
    ...{ reference: "class_balanced", help: "as many pictures of each class in a batch" },
  }),
  nonlinearClassifier: hparam(false, choice([false]), {
    ...{ reference: "nonlinear_classifier", help: "a classifier of three layers" },
  }),
  // As in SWAD, MIRO, the paper's code and all published tables; DomainBed since July 2024 has false.
  freezeBatchNorm: hparam(true, choice([true]), {
    ...{ reference: "freeze_bn", help: "keep the batch norm statistics of the starting weights" },
  }),
};

const bySize: Readonly<Record<DatasetSize, SharedHparams>> = {
  small: { lr: learningRate("small"), weightDecay: weightDecay("small"), batchSize: batchSize(64, 3, 9), ...common },
  large: { lr: learningRate("large"), weightDecay: weightDecay("large"), batchSize: batchSize(32, 3, 5.5), ...common },
};

/** DomainNet's: its batches come from five training domains. */
const domainNetOverrides: HparamOverrides = { large: { batchSize: batchSize(32, 3, 5) } };

/** ARM's: a batch is the context it adapts to, and always of 8. */
export const armOverrides: HparamOverrides = {
  large: { batchSize: hparam(8, choice([8]), { reference: "batch_size" }) },
};

/** An id without regard to case and signs, so that `DomainNet`, `domain_net` and `domain-net` are one. */
const plain = (id: string): string => id.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

const smallDatasets: readonly string[] = ["coloredmnist", "debug28", "rotatedmnist"];

/**
 * Whether a dataset is small. The reference goes by name, and all its small datasets have 28 × 28 pictures; others are small
 * if their pictures are at most 32 × 32, or if they are no pictures at all.
 *
 * @param inputShape channels, height and width; or the width of a vector
 */
export function datasetSize(id: string, inputShape: readonly number[]): DatasetSize {
  if (smallDatasets.includes(plain(id)) || inputShape.length === 1) return "small";
  return inputShape.length === 3 && Math.max(inputShape[1], inputShape[2]) <= 32 ? "small" : "large";
}

/**
 * The shared hyperparameters for a dataset. Overrides are applied in order, the algorithm's before the regularizers', so
 * that NU's batch size holds on DomainNet too, as in its official code.
 */
export function sharedHparams({
  dataset,
  size,
  overrides = [],
}: {
  /** The dataset's id. */
  dataset: string;
  size: DatasetSize;
  overrides?: readonly (HparamOverrides | undefined)[];
}): SharedHparams {
  let shared = bySize[size];
  for (const override of [plain(dataset) === "domainnet" ? domainNetOverrides : undefined, ...overrides]) {
    const replaced = { ...override?.[size], ...override?.datasets?.[dataset] };
    for (const name of Object.keys(replaced))
      if (!Object.hasOwn(shared, name))
        throw new UsageError(unknownName("shared hyperparameter", name, Object.keys(shared)));
    shared = { ...shared, ...replaced };
  }
  return shared;
}

const SHARED: ReadonlySet<string> = new Set(Object.keys(bySize.large));

/** The name of a hyperparameter that no other part of a method has too: a shared one's own, an algorithm's with its owner. */
export const hparamName = (name: string, algorithm: string): string =>
  SHARED.has(name) ? name : `${algorithm}.${name}`;
