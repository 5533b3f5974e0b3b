/** Features of pictures, computed once: on disk, as blocks of 32-bit floats under the picture's content, or in memory. */

import { DataError } from "../errors.js";
import { ContentStore, type FileStamp, isStored, type StoreEntry } from "../files/content-store.js";

/** What features are of: another value here, other features. */
export interface FeatureKey {
  readonly backbone: string;
  /** The hash of the file of weights; or how they were drawn. */
  readonly weights: string;
  readonly inputShape: readonly number[];
  /** How a picture comes to that shape, in words. */
  readonly preprocessing: string;
  /** `cpu` or `cuda`: they round differently. */
  readonly device: string;
  /** Numbers in a row. */
  readonly width: number;
}

/** A picture that was looked at. */
export interface SeenPicture {
  readonly path: string;
  readonly stamp: FileStamp;
  /** The hash of its bytes; empty where it is not there. */
  readonly content: string;
}

/** Where features are kept. */
export interface FeatureStore extends Disposable {
  /** By the picture's path; `problem` where it has none. */
  readonly entries: ReadonlyMap<string, object>;
  /** The features of a picture that is there. */
  read(path: string): Float32Array;
  /** Whether the features of a picture are known as it is now. */
  isKnown(path: string, stamp: FileStamp): boolean;
  /** Takes those of pictures with the same bytes, if there are any for all of these; whether there were. */
  takeKnown(pictures: readonly SeenPicture[]): boolean;
  /** Adds a picture's features, or why it has none; they are kept once `flush` has run. */
  add(picture: SeenPicture, outcome: Float32Array | { readonly problem: string }): void;
  flush(): void;
}

/** Why a picture has no features; undefined where it has. */
export const problemOf = (entry: object | undefined): string | undefined =>
  entry === undefined ? "it has no features" : (entry as { problem?: string }).problem;

/** Features that are kept for as long as the process runs. */
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

/** The features in a folder; close it when done. */
export class FeatureCache implements FeatureStore {
  private readonly store: ContentStore;
  readonly take: ContentStore["take"];

  /** Reads what is in the folder, which need not be there yet. */
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
