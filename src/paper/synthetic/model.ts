/**
 * The model of Section 3.1: features Φ(x) = A·x and a linear head.
 *
 * The score is s(x) = w·x + c with w = Aᵀ·(head), positive for class 1. With the two-class cross-entropy of the paper's
 * listing the head has one row per class and s is the difference of the two logits. With the logistic loss of Section 4
 * it has one row.
 */
import { unknownName } from "../../closest-name.js";
import { keyedRandom } from "../../engine/philox.js";
import { UsageError } from "../../errors.js";
import { identity, type Matrix, matrix } from "./matrix.js";

export const lossNames = ["cross-entropy", "logistic"] as const;
export type LossName = (typeof lossNames)[number];

export const mapNames = ["full", "diagonal"] as const;
export type MapName = (typeof mapNames)[number];

/**
 * The initialization. `uniform`: U(±1/√d) for all parameters, as in PyTorch's `nn.Linear`. `identity`: A = I and a head
 * of zeros, as after perfect pretraining. `small`: N(0, 0.01²) for all parameters. `normal`: N(0, 1) for all
 * parameters.
 */
export const initNames = ["uniform", "identity", "small", "normal"] as const;
export type InitName = (typeof initNames)[number];

export interface Model {
  /** A, d×d. For a diagonal map all other elements stay zero. */
  map: Matrix;
  /** One row of width d per logit. */
  head: Matrix;
  /** One element per logit, or undefined if the head has no bias (the paper's aᵀΦ(x)). */
  bias?: Float64Array;
}

export interface ModelOptions {
  d: number;
  loss: LossName;
  map: MapName;
  init: InitName;
  bias: boolean;
  seed: number;
}

/** Returns the signs of the head's rows in the score: for classes −1 and 1, or for the single logit. */
export const rowSigns = (head: Matrix): readonly number[] => (head.rows === 2 ? [-1, 1] : [1]);

/** Returns an initialized model. */
export function initialModel(options: ModelOptions): Model {
  const { d, loss, map: mapName, init, bias, seed } = options;
  if (!initNames.includes(init)) throw new UsageError(unknownName("initialisation", init, initNames));
  const logits = loss === "cross-entropy" ? 2 : 1;
  const draw = (purpose: string, size: number): number[] => {
    const random = keyedRandom(seed, "synthetic", "init", init, purpose);
    const one = {
      uniform: () => random.uniform(-1, 1) / Math.sqrt(d),
      identity: () => 0,
      small: () => 0.01 * random.normal(),
      normal: () => random.normal(),
    }[init];
    return Array.from({ length: size }, one);
  };
  const map = init === "identity" ? identity(d) : matrix(d, d, draw("map", d * d));
  if (mapName === "diagonal") keepDiagonal(map);
  return {
    map,
    head: matrix(logits, d, draw("head", logits * d)),
    ...(bias ? { bias: Float64Array.from(draw("bias", logits)) } : {}),
  };
}

/** Sets all elements off the diagonal to zero. */
export function keepDiagonal(a: Matrix): void {
  for (let i = 0; i < a.data.length; i++) if (Math.floor(i / a.columns) !== i % a.columns) a.data[i] = 0;
}

/** A linear classifier that predicts class 1 if weights·x + offset > 0. */
export interface Predictor {
  weights: Float64Array;
  offset: number;
}

/** Returns the whole model as one linear classifier. */
export function predictorOf(model: Model): Predictor {
  const { map, head, bias } = model;
  const signs = rowSigns(head);
  const weights = new Float64Array(map.columns);
  for (let k = 0; k < head.rows; k++)
    for (let i = 0; i < map.rows; i++) {
      const value = signs[k] * head.data[k * head.columns + i];
      for (let j = 0; j < map.columns; j++) weights[j] += value * map.data[i * map.columns + j];
    }
  return { weights, offset: bias ? bias.reduce((sum, value, k) => sum + signs[k] * value, 0) : 0 };
}
