/**
 * Section 3.1's model: features Φ(x) = A·x and a linear head on them.
 *
 * The score is s(x) = w·x + c with w = Aᵀ·(head), positive for class 1. With the two-class cross-entropy of the paper's
 * listing the head has a row a class and s is the difference of the two logits; with Section 4's logistic loss it has one.
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
 * Where training starts. `uniform`: U(±1/√d) everywhere, PyTorch's `nn.Linear`. `identity`: A = I and a head of zeros, as
 * after a perfect pre-training. `small`: N(0, 0.01²) everywhere. `normal`: N(0, 1) everywhere.
 */
export const initNames = ["uniform", "identity", "small", "normal"] as const;
export type InitName = (typeof initNames)[number];

export interface Model {
  /** A, d×d. With a diagonal map all else stays zero. */
  map: Matrix;
  /** A row a logit, d wide. */
  head: Matrix;
  /** An entry a logit, or undefined where the head has no bias (the paper's aᵀΦ(x)). */
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

/** The sign with which each row of the head enters the score: classes −1 and 1, or the one logit. */
export const rowSigns = (head: Matrix): readonly number[] => (head.rows === 2 ? [-1, 1] : [1]);

/** A model before its first step. */
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

/** Zeroes what a diagonal map does not have. */
export function keepDiagonal(a: Matrix): void {
  for (let i = 0; i < a.data.length; i++) if (Math.floor(i / a.columns) !== i % a.columns) a.data[i] = 0;
}

/** A linear classifier: class 1 where weights·x + offset > 0. */
export interface Predictor {
  weights: Float64Array;
  offset: number;
}

/** The whole model as one linear classifier. */
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
