/**
 * The hyperparameters of every algorithm, with DomainBed's defaults and search ranges.
 *
 * They depend on the dataset: *small* ones (28 × 28 pictures, networks trained from scratch) and *large* ones
 * (pretrained networks). DomainNet is a large one with smaller batches. An algorithm or a regularizer may override some
 * of them.
 *
 * Some hyperparameters of DomainBed's table are other settings here: the backbone (`resnet18`, `resnet50_augmix`,
 * `vit`, `dinov2`) and those that only ERM++ uses (`linear_steps`, `lars`).
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
  /** The number of pictures per training domain in a batch. */
  readonly batchSize: Hparam<number>;
  /** The dropout probability on the backbone's features. */
  readonly dropout: Hparam<number>;
  readonly dataAugmentation: Hparam<boolean>;
  readonly classBalanced: Hparam<boolean>;
  readonly nonlinearClassifier: Hparam<boolean>;
  readonly freezeBatchNorm: Hparam<boolean>;
}

/** Hyperparameters of a dataset, an algorithm or a regularizer that override shared ones. */
export interface HparamOverrides extends Partial<Readonly<Record<DatasetSize, Readonly<Record<string, Hparam>>>>> {
  /** Overrides for single datasets, by dataset id. They override those by size. */
  readonly datasets?: Readonly<Record<string, Readonly<Record<string, Hparam>>>>;
}

/** The learning rate. DANN and CDANN have two more of this kind, `lr_g` and `lr_d`. */
export function learningRate(size: DatasetSize, reference = "lr"): Hparam<number> {
  const more = { reference, kind: number({ least: 0 }), ofUpdates: true } as const;
  return size === "small" ? hparam(1e-3, powerOfTen(-4.5, -2.5), more) : hparam(5e-5, powerOfTen(-5, -3.5), more);
}

/** The weight decay. DANN and CDANN have one more of this kind, `weight_decay_g`. */
export function weightDecay(size: DatasetSize, reference = "weight_decay"): Hparam<number> {
  const more = { reference, kind: number({ least: 0 }), ofUpdates: true } as const;
  return hparam(0, size === "small" ? choice([0]) : powerOfTen(-6, -2), more);
}

const batchSize = (value: number, from: number, to: number): Hparam<number> =>
  hparam(value, powerOfTwoInteger(from, to), {
    ...{ reference: "batch_size", kind: whole(1), help: "pictures of each training domain in a batch", chosen: 2 },
  });

// These are the same for every dataset.
const common = {
  dropout: hparam(0, choice([0, 0.1, 0.5]), {
    ...{ reference: "resnet_dropout", kind: number({ least: 0, below: 1 }), help: "on the backbone's features" },
    ofUpdates: true,
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
  // As in SWAD, MIRO, the paper's code and all published tables. DomainBed since July 2024 uses false.
  freezeBatchNorm: hparam(true, choice([true]), {
    ...{ reference: "freeze_bn", help: "keep the batch norm statistics of the starting weights" },
  }),
};

const bySize: Readonly<Record<DatasetSize, SharedHparams>> = {
  small: { lr: learningRate("small"), weightDecay: weightDecay("small"), batchSize: batchSize(64, 3, 9), ...common },
  large: { lr: learningRate("large"), weightDecay: weightDecay("large"), batchSize: batchSize(32, 3, 5.5), ...common },
};

/** Overrides for DomainNet, whose batches come from five training domains. */
const domainNetOverrides: HparamOverrides = { large: { batchSize: batchSize(32, 3, 5) } };

/** Overrides for ARM, where a batch is the context for adaptation and always has 8 samples. */
export const armOverrides: HparamOverrides = {
  large: { batchSize: hparam(8, choice([8]), { reference: "batch_size" }) },
};

/**
 * Normalizes an id by ignoring case and punctuation, so that `DomainNet`, `domain_net` and `domain-net` are the same.
 */
const plain = (id: string): string => id.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

const smallDatasets: readonly string[] = ["coloredmnist", "debug28", "rotatedmnist"];

/**
 * Returns the size of a dataset. DomainBed decides by name, and all its small datasets have 28 × 28 pictures. Other
 * datasets are small if their pictures are at most 32 × 32, or if they contain vectors.
 *
 * @param inputShape channels, height and width; or the width of a vector
 */
export function datasetSize(id: string, inputShape: readonly number[]): DatasetSize {
  if (smallDatasets.includes(plain(id)) || inputShape.length === 1) return "small";
  return inputShape.length === 3 && Math.max(inputShape[1], inputShape[2]) <= 32 ? "small" : "large";
}

/**
 * Returns the shared hyperparameters for a dataset. Overrides are applied in order, the algorithm's before the
 * regularizers', so that NU's batch size also applies to DomainNet, as in its official code.
 */
export function sharedHparams({
  dataset,
  size,
  overrides = [],
}: {
  /** The id of the dataset. */
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

/**
 * Returns a name that is unique within a method: shared hyperparameters keep theirs, others get the algorithm's prefix.
 */
export const hparamName = (name: string, algorithm: string): string =>
  SHARED.has(name) ? name : `${algorithm}.${name}`;
