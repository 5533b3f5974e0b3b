/**
 * What the resolution of one run shares with the next: opened datasets, hashes of splits and weights, methods, draws. A
 * sweep resolves a hundred thousand runs with one memo; a single run has its own. The stored values are small: of
 * splits only the hashes, because the splits of DomainNet would fill the memory.
 */

import { createHash, type Hash } from "node:crypto";
import { readSync } from "node:fs";
import { type WeightsFacts, weightsFacts } from "../backbones/weights-facts.js";
import { type Dataset, withoutRelated } from "../data/dataset.js";
import { type OpenOptions, openDataset } from "../data/open-dataset.js";
import { isOwnDataset } from "../data/own-dataset.js";
import { isSplitByClass, splitOf } from "../data/own-split.js";
import type { SignatureOptions } from "../data/picture-signatures.js";
import { samplesHash } from "../data/samples-hash.js";
import { type SplitOptions, splitDomain, splitHash, splitToJson } from "../data/split.js";
import type { GivenKeys, NearDuplicateRule } from "../declared-settings/keys.js";
import { DataError } from "../errors.js";
import { canonicalJson, type KnownTexts } from "../files/canonical-json.js";
import { SourceFile } from "../files/file-bytes.js";
import type { Hparam, HparamValue } from "../hparams.js";
import { drawHparam } from "./hparam-draws.js";
import { type Method, methodOf } from "./method.js";
import { type DrawKey, type UsualValues, usualValues } from "./values-of-run.js";

/** The parameters of a split. */
type SplitKey = Required<Pick<SplitOptions, "trialSeed" | "testDomains" | "holdout">>;

export class SettingsMemo {
  private readonly kept = new Map<string, unknown>();

  /** `comparing` receives the progress of the search for near-duplicates, which reads every picture once. */
  constructor(readonly comparing: SignatureOptions = {}) {}

  /** The stored value of a key, computed on first use. */
  private once<T>(key: string, make: () => T): T {
    if (!this.kept.has(key)) this.kept.set(key, make());
    return this.kept.get(key) as T;
  }

  private readonly opened = new Map<string, Dataset>();

  /** Registers a name for an open dataset. */
  keepDataset(data: string, dataset: Dataset): void {
    this.opened.set(data, dataset);
  }

  /** Opens a dataset. */
  dataset(data: string, { root, options }: OpenOptions): Promise<Dataset> {
    const opened = this.opened.get(data);
    if (opened) return Promise.resolve(opened);
    return this.once(`dataset ${JSON.stringify([data, root, options])}`, () => openDataset(data, { root, options }));
  }

  /** A dataset with the groups of near-duplicates that its split keeps together, if it consists of own pictures. */
  async withNearDuplicates(dataset: Dataset, rule: NearDuplicateRule = "together"): Promise<Dataset> {
    if (rule === "ignore" || !isSplitByClass(dataset)) return dataset;
    return this.once(`near-duplicates ${this.numberOf(dataset)}`, async () => {
      const { nearDuplicatesOf } = await import("../data/near-duplicates.js"); // it needs a decoder
      return { ...dataset, nearDuplicates: await nearDuplicatesOf(dataset, this.comparing) };
    });
  }

  private readonly numbers = new WeakMap<object, number>();
  private serial = 0;

  /** A number that identifies an object in keys. */
  private numberOf(object: object): number {
    const number = this.numbers.get(object) ?? this.serial++;
    this.numbers.set(object, number);
    return number;
  }

  /** The text that is hashed with every run of a dataset; DomainNet has 345 classes. */
  readonly texts: KnownTexts = new WeakMap();

  /** Caches the text of an object that will be hashed again and does not change. */
  keepText(value: object): void {
    if (!this.texts.has(value)) this.texts.set(value, canonicalJson(value));
  }

  /** A dataset whose pictures have this height and width. */
  resized(dataset: Dataset, size: number | undefined): Dataset {
    if (size === undefined || size === dataset.inputShape[1]) return dataset;
    return this.once(`resized ${this.numberOf(dataset)} ${size}`, () => ({ ...dataset, inputShape: [3, size, size] }));
  }

  /** A dataset without the domains that are related to held-out ones. */
  withoutRelated(dataset: Dataset, testDomains: readonly string[]): Dataset {
    if (!dataset.grouped) return dataset;
    return this.once(`without ${this.numberOf(dataset)} ${testDomains.join("\n")}`, () =>
      withoutRelated(dataset, testDomains),
    );
  }

  /** The names of a dataset's domains. */
  domainNames(dataset: Dataset): readonly string[] {
    return this.once(`domains ${this.numberOf(dataset)}`, () => {
      const names = dataset.domains.map(({ name }) => name);
      for (const each of [names, dataset.classes, dataset.options, dataset.inputShape]) this.keepText(each);
      return names;
    });
  }

  /** The hash of a dataset's split, or of the split that came with the dataset. */
  splitHash(dataset: Dataset, { trialSeed, testDomains, holdout }: SplitKey): string {
    const { givenSplit } = dataset;
    const number = this.numberOf(dataset);
    if (givenSplit) return this.once(`split ${number}`, () => splitHash(givenSplit));
    return this.once(`split ${number} ${trialSeed} ${holdout} ${testDomains.join("\n")}`, () => {
      if (dataset.grouped || isOwnDataset(dataset.id))
        return splitHash(splitOf(dataset, { trialSeed, testDomains, holdout }));
      // The canonical JSON of the split, joined from the text of each domain, which most splits share.
      const texts = dataset.domains.map(({ name, count }, domain) => {
        const test = testDomains.includes(name);
        const text = this.once(`part ${number} ${trialSeed} ${holdout} ${domain} ${test}`, () => {
          const split = splitToJson(new Map([[name, splitDomain({ count, domain, trialSeed, test, holdout })]]));
          return Buffer.from(canonicalJson(split[name]), "utf8");
        });
        return { name, text };
      });
      return hashOf((hash) => {
        texts.sort((a, b) => (a.name < b.name ? -1 : 1));
        texts.forEach(({ name, text }, i) => {
          hash.update(`${i === 0 ? "{" : ","}${JSON.stringify(name)}:`, "utf8").update(text);
        });
        hash.update("}");
      });
    });
  }

  /** The fingerprint of a dataset's samples. Datasets that were resized or searched for near-duplicates have the same domains. */
  samplesHash(dataset: Dataset): string {
    return this.once(`samples ${this.numberOf(dataset.domains)}`, () => samplesHash(dataset));
  }

  /** The hash of a file's bytes. */
  fileHash(path: string): string {
    return this.once(`file ${path}`, () => hashOf((hash) => readPieces(path, (piece) => hash.update(piece))));
  }

  /** What is known about a file of weights. Errors in the file are reported when it is loaded. */
  weightsFacts(path: string): WeightsFacts | undefined {
    return this.once(`weights ${path}`, () => {
      try {
        return weightsFacts(path, this.fileHash(path));
      } catch (error) {
        if (error instanceof DataError) return undefined;
        throw error;
      }
    });
  }

  /** A method by its names. */
  method({ algorithm, regularizers, averaging, optimizer, schedule }: GivenKeys): Method {
    const given = { algorithm, regularizers, averaging, optimizer, schedule };
    return this.once(`method ${JSON.stringify(Object.values(given))}`, () => methodOf(given));
  }

  /** The values of a method on a dataset before any are given. */
  usual(method: Method, dataset: Dataset, draw: DrawKey): UsualValues {
    const { trialSeed, hparamsSeed, pretrained, probe, sharedSearch } = draw;
    const seeds = hparamsSeed === 0 ? "0" : `${hparamsSeed} ${trialSeed}`; // defaults are the same in every trial
    const key = `${this.numberOf(method)} ${this.numberOf(dataset)} ${seeds} ${pretrained} ${probe} ${sharedSearch}`;
    if (this.lastUsual?.key !== key) this.lastUsual = { key, values: usualValues(method, dataset, draw, this.draw) };
    return this.lastUsual.values;
  }

  /** Only the last values are kept, because a sweep has others in every draw and asks for them once. */
  private lastUsual: { readonly key: string; readonly values: UsualValues } | undefined;

  private readonly draws = new Map<Hparam, { readonly name: string; readonly values: Map<number, HparamValue> }>();
  private drawnTrial = -1;

  /** Same as `drawHparam`, cached: algorithms share most hyperparameters, and so most draws of a trial. */
  private readonly draw: typeof drawHparam = (name, hparam, seeds) => {
    const { trialSeed, hparamsSeed } = seeds;
    if (this.drawnTrial !== trialSeed) this.draws.clear();
    this.drawnTrial = trialSeed;
    const drawn = this.draws.get(hparam) ?? { name, values: new Map<number, HparamValue>() };
    this.draws.set(hparam, drawn);
    if (drawn.name !== name) return drawHparam(name, hparam, seeds); // the name seeds the draw
    const value = drawn.values.get(hparamsSeed) ?? drawHparam(name, hparam, seeds);
    drawn.values.set(hparamsSeed, value);
    return value as never;
  };
}

/** The first 16 hexadecimal digits of a SHA-256. */
function hashOf(feed: (hash: Hash) => void): string {
  const hash = createHash("sha256");
  feed(hash);
  return hash.digest("hex").slice(0, 16);
}

function readPieces(path: string, take: (piece: Uint8Array) => void): void {
  const piece = Buffer.allocUnsafe(1 << 22);
  const file = SourceFile.open(path); // a regular file, so that it ends
  try {
    for (let read = readSync(file.fd, piece); read > 0; read = readSync(file.fd, piece)) take(piece.subarray(0, read));
  } finally {
    file.close();
  }
}
