/**
 * Penalties on the features F = XAᵀ of a linear map, and their gradients with respect to A.
 *
 * With X = Q·R (Q with orthonormal columns, R d×d, computed once per dataset), F = Q·(R·Aᵀ). The singular values of F
 * are those of B = R·Aᵀ, and with B's polar factor P the gradient of ‖F‖_* with respect to A is Pᵀ·R. The cost of a
 * step is therefore d³ for any number of points. Singular values up to max(n, d)·eps·σ₁ count as zero, with the
 * subgradient zero.
 */

import type { Sample } from "../../data/toy-task.js";
import { decompose, frobeniusNorm, type Matrix, matrix, multiply, transpose } from "./matrix.js";

/**
 * The nuclear norm (the paper's penalty), its controls, or no penalty. `weight-decay` is ½(‖A‖² + ‖head‖²) and does not
 * depend on the features.
 */
export const penaltyNames = ["none", "nuclear-norm", "frobenius-norm", "centred-nuclear-norm", "weight-decay"] as const;
export type PenaltyName = (typeof penaltyNames)[number];

/** The factors R of X = Q·R for the penalties, for the original and for the centred inputs. */
export interface InputFactors {
  n: number;
  plain: Matrix;
  centred: Matrix;
}

/** Computes R = diag(σ)·Vᵀ of X and of the centred X. */
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

/**
 * Returns ‖F‖_* and its gradient P, the polar factor, for any matrix. `n` is the number of rows for the rank cutoff.
 */
export function nuclearNorm(f: Matrix, n = f.rows): ValueAndGradient {
  const { u, sigma, v } = decompose(f);
  const cutoff = Math.max(n, f.columns) * Number.EPSILON * sigma[0];
  const kept = u.data.map((value, i) => (sigma[i % u.columns] > cutoff ? value : 0));
  return {
    value: sigma.reduce((sum, s) => sum + s, 0),
    gradient: multiply({ ...u, data: kept }, transpose(v)),
  };
}

/** Returns the penalty for the map A (d×d) and its gradient with respect to A. */
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
