/**
 * The family of Figure 1b: all lines through the origin without an error on a sample of the 2-D task.
 *
 * For a line with weights w, the smallest nuclear norm of features that give its scores with a head a of norm 1 is
 * ‖Xw‖₂, with A = a·wᵀ: F·a = Xw, so ‖F‖_* ≥ ‖F‖₂ ≥ ‖Xw‖₂, and this A attains it. With a full map, every line of the
 * family therefore has rank-one features, and rank alone cannot select a line. With the diagonal map and head of ones
 * of Section 4 it can: there F = X·diag(w) has rank one only if a weight is zero, and ‖F‖_* has a kink there, like the
 * ℓ1 norm. Norms can only be compared at a common scale: each w is scaled to the same training loss, because the
 * objective weighs the norm against the loss.
 */

import { type Sample, sampleTask, type Task } from "../../data/toy-task.js";
import { UsageError } from "../../errors.js";

/**
 * A line of the family: the angle of w from the x₁ axis, and its smallest nuclear norms at the family's training loss.
 */
export interface SeparatingLine {
  angle: number;
  /** The smallest norm over all A and all heads of norm 1. */
  full: number;
  /** The norm for A = diag(w) and a head of ones. */
  diagonal: number;
}

export interface SeparatingFamily {
  sample: Sample;
  seed: number;
  /** The mean logistic loss to which every line is scaled. */
  loss: number;
  /** The range of angles of the family. */
  angles: { from: number; to: number };
  lines: SeparatingLine[];
  smallest: { full: SeparatingLine; diagonal: SeparatingLine };
}

/** Finds the family for a sample of n points and its members with the smallest nuclear norm. */
export function separatingLines(task: Task, n: number, seed: number, loss = 0.1): SeparatingFamily {
  if (task.invariant !== 1 || task.environmental !== 1) throw new UsageError("separating lines: expected the 2-D task");
  const sample = sampleTask(task, n, "in", seed, "train");
  const { x, y } = sample;
  // y·(x₁cos θ + x₂sin θ) > 0 for all points means that θ is within a right angle of the direction of each y·x.
  let [from, to] = [-Math.PI / 2, Math.PI / 2];
  let [s11, s12, s22] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [x1, x2] = [x[2 * i], x[2 * i + 1]];
    const angle = Math.atan2(y[i] * x2, y[i] * x1);
    [from, to] = [Math.max(from, angle - Math.PI / 2), Math.min(to, angle + Math.PI / 2)];
    [s11, s12, s22] = [s11 + x1 * x1, s12 + x1 * x2, s22 + x2 * x2];
  }
  const lineAt = (angle: number): SeparatingLine => {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const margins = Float64Array.from(y, (label, i) => label * (x[2 * i] * cos + x[2 * i + 1] * sin));
    const length = lengthForLoss(margins, loss);
    const trace = cos * cos * s11 + sin * sin * s22;
    // σ₁ + σ₂ of an n×2 matrix is √(trace + 2√det) of its Gram matrix.
    const root = Math.abs(cos * sin) * Math.sqrt(Math.max(0, s11 * s22 - s12 * s12));
    return {
      angle,
      full: length * Math.sqrt(trace + 2 * cos * sin * s12),
      diagonal: length * Math.sqrt(trace + 2 * root),
    };
  };
  const count = 400;
  const lines = Array.from({ length: count }, (_, i) => lineAt(from + ((to - from) * (i + 0.5)) / count));
  const smallest = (norm: "full" | "diagonal"): SeparatingLine => {
    const near = lines.reduce((best, line) => (line[norm] < best[norm] ? line : best)).angle;
    const width = (to - from) / count;
    return lineAt(minimise((angle) => lineAt(angle)[norm], near - width, near + width));
  };
  return {
    sample,
    seed,
    loss,
    angles: { from, to },
    lines,
    smallest: { full: smallest("full"), diagonal: smallest("diagonal") },
  };
}

/** Finds the factor on positive margins for which their mean logistic loss is `loss`, by bisection of its logarithm. */
function lengthForLoss(margins: Float64Array, loss: number): number {
  let [low, high] = [-10, 40];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    const factor = Math.exp(middle);
    const mean = margins.reduce((sum, margin) => sum + Math.log1p(Math.exp(-factor * margin)), 0) / margins.length;
    if (mean > loss) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}

/** Finds the minimum of a unimodal function between two points by ternary search. */
function minimise(f: (x: number) => number, low: number, high: number): number {
  for (let i = 0; i < 100; i++) {
    const [a, b] = [low + (high - low) / 3, high - (high - low) / 3];
    if (f(a) < f(b)) high = b;
    else low = a;
  }
  return (low + high) / 2;
}
