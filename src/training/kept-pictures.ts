/**
 * Keeps the pictures of the last run of a process open for its next run. The runs of a sweep share datasets, and
 * checking the cache, reading it and copying it to a GPU takes seconds for each run. Only one dataset is kept at a
 * time, to limit the memory. The same holds for arrays that are in the memory of a device.
 */

import type { ArrayDataset, PictureDataset } from "../data/dataset.js";
import { openPictures, type PictureStore, type PictureStoreOptions } from "../data/picture-store.js";
import { useTables } from "../data/resident-arrays.js";

export class KeptPictures implements Disposable {
  private kept: { dataset: PictureDataset; key: string; store: PictureStore } | undefined;
  private arrays: { dataset: ArrayDataset; use: Disposable } | undefined;

  /** Like `openPictures`, but this object disposes of the returned store. */
  async open(dataset: PictureDataset, options: PictureStoreOptions): Promise<PictureStore> {
    const { cache = true, device = "cpu", shortSide, filter, memoryLimit } = options;
    const key = JSON.stringify([cache, device, shortSide, filter, memoryLimit]);
    if (this.kept?.dataset !== dataset || this.kept.key !== key) {
      this[Symbol.dispose](); // must come first, because both may not fit in memory
      this.kept = { dataset, key, store: await openPictures(dataset, options) };
    }
    return withoutDispose(this.kept.store);
  }

  /** Keeps the tables of a dataset of arrays. */
  keepArrays(dataset: ArrayDataset): void {
    if (this.arrays?.dataset === dataset) return;
    this[Symbol.dispose]();
    this.arrays = { dataset, use: useTables(dataset) };
  }

  [Symbol.dispose](): void {
    this.arrays?.use[Symbol.dispose]();
    this.arrays = undefined;
    this.kept?.store[Symbol.dispose]();
    this.kept = undefined;
  }
}

/** Returns the store for a user who must not dispose of it. */
const withoutDispose = (store: PictureStore): PictureStore => ({
  kind: store.kind,
  device: store.device,
  find: (samples) => store.find(samples),
  expect: (pictures) => store.expect(pictures),
  block: (pictures) => store.block(pictures),
  [Symbol.dispose]() {},
});
