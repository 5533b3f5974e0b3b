/**
 * A trained model: takes pictures; returns classes with probabilities, features, and the distance from the training
 * domains.
 */

import { softmax } from "../analysis/judged.js";
import { type DecodedPicture, decodeBytes } from "../data/decode.js";
import { inOrder, slices } from "../data/in-order.js";
import { givenPictures, type PictureInput, plainTensor } from "../data/sample-source.js";
import { keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { DataError, UsageError } from "../errors.js";
import { dependsOnBatch, type ModelAbout, temperatureOf } from "./about.js";
import { type DistanceStatistics, type DomainDistance, distancesTo, shareBelow } from "./domain-distance.js";
import type { Forward, Network } from "./network.js";

/** A class and its probability. */
export interface ClassProbability {
  readonly label: string;
  readonly probability: number;
}

/** The prediction for one picture. */
export interface Prediction {
  /** The most probable class. */
  readonly label: string;
  readonly probability: number;
  /** The most probable classes, in descending order. */
  readonly top: readonly ClassProbability[];
  /** In the order of the model's classes. Probabilities are softmax(logits / temperature). */
  readonly logits: readonly number[];
  /** The features that the classifier received. */
  readonly features: Float32Array;
  /** The distance from the training domains; null if the file has no distance score. */
  readonly distance: DomainDistance | null;
  /** Whether the file is truncated, so that only its readable part was used. */
  readonly truncated: boolean;
  /** The damage that the decoder noticed in the data of a JPEG file; what could be decoded was used. */
  readonly damage?: string;
}

/** The result for one of many pictures: a prediction, or why the picture could not be read. */
export type PictureResult = { readonly place: number } & (
  | { readonly prediction: Prediction; readonly problem?: undefined }
  | { readonly problem: DataError; readonly prediction?: undefined }
);

export interface PredictOptions {
  /** The number of classes in `top` (default: 5). */
  top?: number;
  /** The number of pictures per forward pass (default: 64, as in evaluations). */
  batchSize?: number;
}

const BATCH_SIZE = 64;

/** What was wrong with the file of a decoded picture. */
const faultsOf = ({ truncated, damage }: DecodedPicture): Pick<Prediction, "truncated" | "damage"> => ({
  truncated,
  ...(damage !== undefined && { damage }),
});

/** In JavaScript any value can be passed: `fetch` returns an ArrayBuffer. */
function checkInput(picture: unknown, i: number): void {
  if (typeof picture === "string" || picture instanceof Uint8Array) return;
  const kind = (picture as object | null | undefined)?.constructor?.name ?? String(picture);
  const hint = picture instanceof ArrayBuffer ? "; convert it with new Uint8Array(buffer)" : "";
  throw new UsageError(
    `predicting picture ${i + 1}: expected a path or a file's bytes (Uint8Array), got ${kind}${hint}`,
  );
}

/** A loaded model. Call `dispose()` on it, or declare it with `using`. */
export class Model implements Disposable {
  /** @internal Use `loadModel`. */
  constructor(
    /** The file it came from. */
    readonly path: string,
    /** The metadata of the file. */
    readonly about: ModelAbout,
    /** @internal */
    readonly network: Network,
    /** Null if the file has no distance score. */
    readonly distanceStatistics: DistanceStatistics | null,
    /** @internal */
    readonly device: string,
  ) {}

  get classes(): readonly string[] {
    return this.about.classes;
  }

  /** The number of features: the width of the backbone, or of two backbones. */
  get width(): number {
    return this.about.width * this.network.backbones;
  }

  /** Whether the prediction for a picture depends on the other pictures in its batch. */
  get dependsOnBatch(): boolean {
    return dependsOnBatch(this.about);
  }

  /**
   * Predicts one or several pictures, given as paths or as the bytes of files. An unreadable picture is an error.
   *
   * @example const { label, probability, distance } = await model.predict("photo.jpg");
   */
  predict(picture: PictureInput, options?: PredictOptions): Promise<Prediction>;
  predict(pictures: readonly PictureInput[], options?: PredictOptions): Promise<Prediction[]>;
  async predict(given: PictureInput | readonly PictureInput[], options?: PredictOptions) {
    const pictures = Array.isArray(given) ? (given as readonly PictureInput[]) : [given as PictureInput];
    const predictions: Prediction[] = [];
    for await (const { prediction, problem } of this.predictEach(pictures, options)) {
      if (problem) throw problem;
      predictions.push(prediction);
    }
    return pictures === given ? predictions : predictions[0];
  }

  /**
   * Predicts many pictures one after the other, in order and with bounded memory. The result of an unreadable picture
   * is the reason.
   */
  async *predictEach(
    pictures: readonly PictureInput[],
    { top = 5, batchSize = BATCH_SIZE }: PredictOptions = {},
  ): AsyncGenerator<PictureResult, void, undefined> {
    if (!Number.isSafeInteger(batchSize) || batchSize < 1)
      throw new UsageError(`predicting: expected a batch size of at least 1, got ${batchSize}`);
    if (!Array.isArray(pictures))
      throw new UsageError("predicting: expected an array of pictures; use predict for a single one");
    for (const [i, picture] of (pictures as readonly unknown[]).entries()) checkInput(picture, i);
    const source = givenPictures(pictures, { ...this.pictures(), upright: true, channelsLast: this.network.hasPlan });
    const all = pictures.map((_, index) => ({ domain: 0, index }));
    for await (const { samples, found, lost } of inOrder(slices(all, batchSize), source)) {
      using x = plainTensor(source, found);
      const predictions = x ? await this.predictAside(x, { top }) : [];
      const outcomes = samples.map(({ index: place }, i): PictureResult => {
        return { place, prediction: { ...predictions[i], ...faultsOf(found[i]) } };
      });
      for (const [{ index: place }, { problem }] of lost) outcomes.push({ place, problem: new DataError(problem) });
      yield* outcomes.sort((a, b) => a.place - b.place);
    }
  }

  /** Predicts samples that are tensors already, float32 [n, …] in the format of the network's input. */
  predictTensor(x: Tensor, options: Pick<PredictOptions, "top"> = {}): Prediction[] {
    return scope(() => this.predictionsOf(this.forward(x), options));
  }

  /** The same except for rounding, while this thread is free for other work. */
  private async predictAside(x: Tensor, options: Pick<PredictOptions, "top">): Promise<Prediction[]> {
    const { logits, features } = await this.forwardAside(x);
    try {
      return scope(() => this.predictionsOf({ logits, features }, options));
    } finally {
      for (const each of [logits, features]) each.dispose();
    }
  }

  private predictionsOf(forward: Forward, { top = 5 }: Pick<PredictOptions, "top">): Prediction[] {
    const temperature = temperatureOf(this.about);
    const rows = forward.logits.toArray() as number[][];
    const features = forward.features.to({ dtype: "float32" }).data() as Float32Array;
    const distances = this.distancesOf(forward.features);
    return rows.map((logits, i) => {
      if (!logits.every(Number.isFinite))
        throw new DataError(
          `${this.path}: the model returned values that are not finite (${logits.slice(0, 3).join(", ")}, …)`,
        );
      const probabilities = softmax(logits.map((logit) => logit / temperature));
      const order = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a] || a - b);
      const classes = order.map((at) => ({ label: this.classes[at], probability: probabilities[at] }));
      return {
        ...{ ...classes[0], top: classes.slice(0, Math.max(1, top)), logits, truncated: false },
        features: features.subarray(i * this.width, (i + 1) * this.width),
        distance: distances?.[i] ?? null,
      };
    });
  }

  /** Decodes a picture's file, for `predictDecoded`. */
  decode(picture: Uint8Array): Promise<DecodedPicture> {
    const { shortSide, interpolation: filter } = this.pictures();
    return decodeBytes(picture, "as sent", { shortSide, filter, upright: true, reportDamage: true });
  }

  /** @internal Decoded pictures in the format of the network's input, to be disposed of; null for an empty list. */
  tensorOf(pictures: readonly DecodedPicture[]): Tensor | null {
    return plainTensor(givenPictures([], { ...this.pictures(), channelsLast: this.network.hasPlan }), pictures);
  }

  /** Predicts decoded pictures in one batch. */
  async predictDecoded(
    pictures: readonly DecodedPicture[],
    options: Pick<PredictOptions, "top"> = {},
  ): Promise<Prediction[]> {
    using x = this.tensorOf(pictures);
    const predictions = x ? await this.predictAside(x, options) : [];
    return predictions.map((prediction, i) => ({ ...prediction, ...faultsOf(pictures[i]) }));
  }

  /** Logits and features of samples in the format of the network's input. The tensors belong to the enclosing scope. */
  forward(x: Tensor): Forward {
    return scope(() => this.network.forward(this.checked(x).to({ device: this.device })));
  }

  /**
   * @internal The same except for rounding, for predictions: where possible it runs on other threads. The caller disposes of the
   * tensors.
   */
  async forwardAside(x: Tensor): Promise<Forward> {
    using input = scope(() => keep(this.checked(x).to({ device: this.device }).detach()));
    return await this.network.forwardAside(input);
  }

  /** Throws if samples are not in the format of the network's input. */
  private checked(x: Tensor): Tensor {
    if (this.disposed) throw new UsageError(`model ${this.path}: it has been disposed of; load it again`);
    const [, ...shape] = x.shape;
    const { inputShape } = this.about.preprocessing;
    if (`${shape}` !== `${inputShape}`)
      throw new UsageError(`model ${this.path}: expected samples [n, ${inputShape.join(", ")}], got ${x.describe()}`);
    return x;
  }

  /** The logits of pictures, one row each. */
  async logits(pictures: readonly PictureInput[], options?: PredictOptions): Promise<number[][]> {
    return (await this.predict(pictures, options)).map(({ logits }) => [...logits]);
  }

  /** The features of pictures, one row each. */
  async features(pictures: readonly PictureInput[], options?: PredictOptions): Promise<Float32Array[]> {
    return (await this.predict(pictures, options)).map(({ features }) => features);
  }

  /** The distance of a picture from the training domains; null if the file has no distance score. */
  async distance(picture: PictureInput): Promise<DomainDistance | null> {
    return (await this.predict(picture)).distance;
  }

  /** The distances of rows of features; null if the file has no distance score. */
  distancesOf(features: Tensor): DomainDistance[] | null {
    const statistics = this.distanceStatistics;
    if (!statistics) return null;
    const quantiles = statistics.quantiles.data() as Float32Array;
    return distancesTo(statistics, features).map(({ score, nearest }) => ({
      ...{ score, percentile: 100 * shareBelow(quantiles, score), nearest: this.about.domains[nearest] },
    }));
  }

  private pictures() {
    const { preprocessing } = this.about;
    if (preprocessing.kind === "pictures") return preprocessing;
    throw new UsageError(
      `model ${this.path}: it expects arrays of shape [${preprocessing.inputShape.join(", ")}], not pictures; pass a tensor to forward or predictTensor`,
    );
  }

  private disposed = false;

  dispose(): void {
    this.disposed = true;
    this.network.dispose();
    for (const each of Object.values(this.distanceStatistics ?? {})) (each as Tensor).dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
