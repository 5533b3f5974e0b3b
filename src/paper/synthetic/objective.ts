/** The objective of Section 2 on a whole sample, mean loss + weight·penalty, with the gradient of every parameter. */

import type { Sample } from "../../data/toy-task.js";
import { type Matrix, matrix, multiply, transpose } from "./matrix.js";
import { keepDiagonal, type MapName, type Model, predictorOf, rowSigns } from "./model.js";
import { featurePenalty, type InputFactors, inputFactors, type PenaltyName } from "./penalty.js";

export interface Objective {
  penalty: PenaltyName;
  weight: number;
  /**
   * `sum` is the paper's λ‖F‖_*. `per-sample` divides by the number of points, as the official code does. Weight decay
   * does not depend on the points and uses the weight directly.
   */
  scaling: "sum" | "per-sample";
  map: MapName;
}

export interface ObjectiveValue {
  /** The mean cross-entropy, or the logistic loss, which is the same function of the score. */
  loss: number;
  /** The weighted penalty. Gradient descent minimizes loss + penalty. */
  penalty: number;
  /** The share of the sample that is classified correctly (a score of zero counts as class −1). */
  accuracy: number;
  gradient: { map: Matrix; head: Matrix; bias?: Float64Array };
  /** The Euclidean norm of the whole gradient. */
  gradientNorm: number;
}

/** A sample prepared for repeated evaluations. */
export interface TrainingSet {
  n: number;
  /** The columns of y·x. With the label included, a score is a margin. */
  columns: Float64Array[];
  labels: Float64Array;
  inputs: InputFactors;
  /** A buffer with one number per point. */
  scratch: Float64Array;
}

export function prepare(sample: Sample): TrainingSet {
  const { x, y, n, d } = sample;
  return {
    n,
    columns: Array.from({ length: d }, (_, j) => Float64Array.from({ length: n }, (_, i) => y[i] * x[i * d + j])),
    labels: Float64Array.from(y),
    inputs: inputFactors(sample),
    scratch: new Float64Array(n),
  };
}

/** Evaluates the objective and its gradient. If `penalised` is false, only the loss, as during a warm-up. */
export function evaluateObjective(
  model: Model,
  set: TrainingSet,
  objective: Objective,
  penalised = true,
): ObjectiveValue {
  const { n, columns, labels, scratch } = set;
  const { weights, offset } = predictorOf(model);
  scratch.fill(0);
  for (let j = 0; j < columns.length; j++) addScaled(scratch, columns[j], weights[j]);
  if (offset !== 0) addScaled(scratch, labels, offset);
  const { loss, right } = lossAndSlopes(scratch, labels);
  const slopes = matrix(1, columns.length); // the gradient of the loss with respect to w
  for (let j = 0; j < columns.length; j++) slopes.data[j] = dot(columns[j], scratch) / n;
  const signs = matrix(model.head.rows, 1, rowSigns(model.head));
  const perLogit = multiply(signs, slopes); // the gradient of the loss with respect to head·A, one row per logit
  const gradient: ObjectiveValue["gradient"] = {
    map: multiply(transpose(model.head), perLogit),
    head: multiply(perLogit, transpose(model.map)),
    ...(model.bias ? { bias: signs.data.map((sign) => (sign * dot(labels, scratch)) / n) } : {}),
  };
  let penalty = 0;
  if (penalised && objective.penalty !== "none" && objective.weight > 0) {
    if (objective.penalty === "weight-decay") {
      for (const key of ["map", "head"] as const) {
        addScaled(gradient[key].data, model[key].data, objective.weight);
        penalty += 0.5 * objective.weight * dot(model[key].data, model[key].data);
      }
    } else {
      const factor = objective.scaling === "sum" ? objective.weight : objective.weight / n;
      const term = featurePenalty(objective.penalty, model.map, set.inputs);
      penalty = factor * term.value;
      addScaled(gradient.map.data, term.gradient.data, factor);
    }
  }
  if (objective.map === "diagonal") keepDiagonal(gradient.map);
  const squares = [gradient.map.data, gradient.head.data, gradient.bias].reduce(
    (sum, part) => sum + (part ? dot(part, part) : 0),
    0,
  );
  return { loss: loss / n, penalty, accuracy: right / n, gradient, gradientNorm: Math.sqrt(squares) };
}

/**
 * Replaces margins m by the slopes of the loss, −σ(−m). Returns the sum of ln(1 + exp(−m)) and the number of correctly
 * classified points. The sum of logarithms is computed as the logarithm of a product, which is ten times as fast.
 */
function lossAndSlopes(margins: Float64Array, labels: Float64Array): { loss: number; right: number } {
  let [loss, right, product] = [0, 0, 1];
  for (let i = 0; i < margins.length; i++) {
    const margin = margins[i];
    const e = Math.exp(-Math.abs(margin));
    product *= 1 + e;
    if (product > 1e300) {
      loss += Math.log(product);
      product = 1;
    }
    if (margin > 0 || (margin === 0 && labels[i] < 0)) right++;
    if (margin < 0) loss -= margin;
    margins[i] = -(margin < 0 ? 1 : e) / (1 + e);
  }
  return { loss: loss + Math.log(product), right };
}

function addScaled(to: Float64Array, values: Float64Array, factor: number): void {
  for (let i = 0; i < to.length; i++) to[i] += factor * values[i];
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
