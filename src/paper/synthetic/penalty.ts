/**
 * Penalties on the features F = XAᵀ of a linear map, and their gradients in A.
 *
 * With X = Q·R (Q with orthonormal columns, R d×d, made once for a data set), F = Q·(R·Aᵀ): the singular values of F are
 * those of B = R·Aᵀ, and with B's polar factor P the gradient of ‖F‖_* in A is Pᵀ·R. So a step costs d³ however many points
 * there are. Singular values at or below max(n, d)·eps·σ₁ count as zero, where the subgradient takes zero.
 */

import type { Sample } from "../../data/toy-task.js";
import { decompose, frobeniusNorm, type Matrix, matrix, multiply, transpose } from "./matrix.js";

/** Nuclear norm (the paper's), its controls, or nothing. `weight-decay` is ½(‖A‖² + ‖head‖²) and not on features. */
export const penaltyNames = ["none", "nuclear-norm", "frobenius-norm", "centred-nuclear-norm", "weight-decay"] as const;
export type PenaltyName = (typeof penaltyNames)[number];

/** The inputs as the penalties see them: R of X = Q·R, as they are and with their mean taken off. */
export interface InputFactors {
  n: number;
  plain: Matrix;
  centred: Matrix;
}

/** R = diag(σ)·Vᵀ of X and of the centred X. */
export function inputFactors(sample: Sample): InputFactors {
  const { x, n, d } = sample;
  const mean = new Float64Array(d);
  for (let i = 0; i < n; i++) for (let j = 0; j < d; j++) mean[j] += x[i * d + j] / n;
  return {
    n,
    plain: rightFactor(matrix(n, d, x)),
    centred: rightFactor(
      matrix(
        n,
        d,
        x.map((value, k) => value - mean[k % d]),
      ),
    ),
  };
}

function rightFactor(x: Matrix): Matrix {
  const { sigma, v } = decompose(x);
  const r = transpose(v);
  for (let i = 0; i < r.data.length; i++) r.data[i] *= sigma[Math.floor(i / r.columns)];
  return r;
}

export interface ValueAndGradient {
  value: number;
  gradient: Matrix;
}

/** ‖F‖_* and its gradient P, the polar factor, for any matrix. `n` is the row count the rank cutoff is to assume. */
export function nuclearNorm(f: Matrix, n = f.rows): ValueAndGradient {
  const { u, sigma, v } = decompose(f);
  const cutoff = Math.max(n, f.columns) * Number.EPSILON * sigma[0];
  const kept = u.data.map((value, i) => (sigma[i % u.columns] > cutoff ? value : 0));
  return {
    value: sigma.reduce((sum, s) => sum + s, 0),
    gradient: multiply({ ...u, data: kept }, transpose(v)),
  };
}

/** The penalty's value for the map A (d×d) and its gradient in A. */
export function featurePenalty(
  name: Exclude<PenaltyName, "none" | "weight-decay">,
  a: Matrix,
  inputs: InputFactors,
): ValueAndGradient {
  const r = name === "centred-nuclear-norm" ? inputs.centred : inputs.plain;
  const b = multiply(r, transpose(a));
  const { value, gradient } = name === "frobenius-norm" ? frobenius(b) : nuclearNorm(b, inputs.n);
  return { value, gradient: multiply(transpose(gradient), r) };
}

function frobenius(b: Matrix): ValueAndGradient {
  const value = frobeniusNorm(b);
  return { value, gradient: { ...b, data: b.data.map((entry) => (value > 0 ? entry / value : 0)) } };
}
