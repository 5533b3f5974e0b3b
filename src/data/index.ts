/** Data: datasets, splits, decoded pictures, augmentation, and the loader that creates batches. */

export { type Augmentation, augmentOnHost } from "./augment.js";
export { buildCache } from "./cache.js";
export {
  type ArrayDataset,
  type ArrayDomain,
  type Dataset,
  type DatasetDefinition,
  type Domain,
  defineDataset,
  domainNamed,
  type PictureDataset,
  type PictureDomain,
} from "./dataset.js";
export { datasetNamed, datasets } from "./datasets/index.js";
export { SHAPES_CLASSES, SHAPES_DOMAINS, shapesDataset } from "./datasets/shapes.js";
export {
  byDomain,
  type EvaluatedBatch,
  type EvaluationOptions,
  type LoadedBatch,
  Loader,
  type LoaderOptions,
} from "./loader.js";
export { type OpenOptions, openDataset } from "./open-dataset.js";
export { splitOf } from "./own-split.js";
export { openPictures, type PictureStore, type PictureStoreOptions } from "./picture-store.js";
export {
  type DomainSplit,
  type Split,
  type SplitName,
  type SplitOptions,
  splitDataset,
  splitHash,
} from "./split.js";
