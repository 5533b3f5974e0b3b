/**
 * The pictures that a process trained on last, kept open for its next run. The runs of a sweep share datasets: checking the cache,
 * reading it and bringing it to a GPU takes seconds for each run otherwise. Pictures of one dataset are kept at a time, so that no two
 * fill the memory.
 */

import type { PictureDataset } from "../data/dataset.js";
import { openPictures, type PictureStore, type PictureStoreOptions } from "../data/picture-store.js";

export class KeptPictures implements Disposable {
  private kept: { dataset: PictureDataset; key: string; store: PictureStore } | undefined;

  /** As `openPictures`; the store that it returns stays this object's to dispose of. */
  async open(dataset: PictureDataset, options: PictureStoreOptions): Promise<PictureStore> {
    const { cache = true, device = "cpu", shortSide, filter, memoryLimit } = options;
    const key = JSON.stringify([cache, device, shortSide, filter, memoryLimit]);
    if (this.kept?.dataset !== dataset || this.kept.key !== key) {
      this[Symbol.dispose](); // first: both may not fit
      this.kept = { dataset, key, store: await openPictures(dataset, options) };
    }
    return lent(this.kept.store);
  }

  [Symbol.dispose](): void {
    this.kept?.store[Symbol.dispose]();
    this.kept = undefined;
  }
}

/** The store, for one who may use it and not dispose of it. */
const lent = (store: PictureStore): PictureStore => ({
  kind: store.kind,
  device: store.device,
  find: (sample) => store.find(sample),
  expect: (pictures) => store.expect(pictures),
  block: (pictures) => store.block(pictures),
  [Symbol.dispose]() {},
});
