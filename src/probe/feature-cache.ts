/**
 * A cache of picture features: on disk, as blocks of 32-bit floats keyed by the content of the picture, or in memory.
 */

import { DataError } from "../errors.js";
import { ContentStore, type FileStamp, isStored, type StoreEntry } from "../files/content-store.js";

/** What the features depend on. Another value means other features. */
export interface FeatureKey {
  readonly backbone: string;
  /** The hash of the weights file, or how the weights were drawn. */
  readonly weights: string;
  readonly inputShape: readonly number[];
  /** The preprocessing of a picture, as text. */
  readonly preprocessing: string;
  /** `cpu` or `cuda`, which round differently. */
  readonly device: string;
  /** The number of features. */
  readonly width: number;
}

/** A picture that was read. */
export interface SeenPicture {
  readonly path: string;
  readonly stamp: FileStamp;
  /** The hash of its bytes; empty if the file is missing. */
  readonly content: string;
}

/** A store of features. */
export interface FeatureStore extends Disposable {
  /** The entry of a picture, by path; `problem` if it has no features. */
  readonly entries: ReadonlyMap<string, object>;
  /** The features of a stored picture. */
  read(path: string): Float32Array;
  /** Whether the store has the features of the current version of a picture. */
  isKnown(path: string, stamp: FileStamp): boolean;
  /** Uses the features of pictures with the same bytes, if all of these have some. Returns whether it did. */
  takeKnown(pictures: readonly SeenPicture[]): boolean;
  /** Adds the features of a picture, or the reason why it has none. They are stored by `flush`. */
  add(picture: SeenPicture, outcome: Float32Array | { readonly problem: string }): void;
  flush(): void;
}

/** The reason why a picture has no features; undefined if it has features. */
export const problemOf = (entry: object | undefined): string | undefined =>
  entry === undefined ? "it has no features" : (entry as { problem?: string }).problem;

/** Features that are kept in memory until the process ends. */
export class FeaturesInMemory implements FeatureStore {
  readonly entries = new Map<string, Float32Array | { readonly problem: string }>();

  read(path: string): Float32Array {
    return this.entries.get(path) as Float32Array;
  }

  isKnown(path: string): boolean {
    return this.entries.has(path);
  }

  takeKnown(): boolean {
    return false;
  }

  add({ path }: SeenPicture, outcome: Float32Array | { readonly problem: string }): void {
    this.entries.set(path, outcome);
  }

  flush(): void {}

  [Symbol.dispose](): void {
    this.entries.clear();
  }
}

/** The features in a folder. The caller closes it. */
export class FeatureCache implements FeatureStore {
  private readonly store: ContentStore;
  readonly take: ContentStore["take"];

  /** Reads the folder, which may not exist yet. */
  constructor(folder: string, root: string, key: FeatureKey) {
    this.store = new ContentStore(folder, {
      what: "feature cache",
      kind: { of: "features", ...key },
      root,
      isWhole: ({ length }) => length === key.width * Float32Array.BYTES_PER_ELEMENT,
      advice: "Name a folder on another disk with cache=DIR, or do without one with cache=false",
    });
    this.take = (options) => this.store.take(options);
  }

  get entries(): ReadonlyMap<string, StoreEntry<object>> {
    return this.store.entries;
  }

  isKnown(path: string, stamp: FileStamp): boolean {
    const entry = this.store.entries.get(path);
    return this.store.isFresh(path, stamp) && (!isStored(entry) || this.store.isIntact(entry));
  }

  takeKnown(pictures: readonly SeenPicture[]): boolean {
    const found = pictures.map(({ content }) => this.store.find(content));
    if (found.some((entry) => entry === undefined || !this.store.isIntact(entry))) return false;
    for (const [i, { path, stamp }] of pictures.entries()) this.store.add(path, stamp, found[i]!);
    return true;
  }

  add({ path, stamp, content }: SeenPicture, outcome: Float32Array | { readonly problem: string }): void {
    if ("problem" in outcome) this.store.add(path, stamp, outcome);
    else {
      const bytes = new Uint8Array(outcome.buffer, outcome.byteOffset, outcome.byteLength);
      this.store.add(path, stamp, { content, bytes, facts: {} });
    }
  }

  flush(): void {
    this.store.flush();
  }

  read(path: string): Float32Array {
    const entry = this.store.entries.get(path);
    const bytes = isStored(entry) ? this.store.read(entry) : undefined;
    if (!bytes) throw new DataError(`feature cache ${this.store.folder}: there are no features of ${path} in it`);
    return new Float32Array(bytes.buffer);
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]();
  }
}
