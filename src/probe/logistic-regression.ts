/**
 * Multinomial logistic regression, solved to convergence: the exact probe. The problem is convex, so it has one
 * solution, which does not depend on a seed, a batch size or a number of steps.
 *
 *     minimize over W, b:   C · Σᵢ wᵢ · crossEntropy(W zᵢ + b, yᵢ) + ½ ‖W‖²        z: standardized features
 *
 * This is scikit-learn's objective, with its C (a small C is a strong penalty; the intercept b is not penalized) and
 * its class weights. It is solved in float64 by L-BFGS (Nocedal and Wright, Numerical Optimization, 2006, Algorithm
 * 7.4) in the basis of the features' principal directions, where the Hessian is close to diagonal. Every iteration
 * starts from the inverse of that diagonal, which reduces hundreds of iterations to a few dozen. The rotation does not
 * change the solution, because the L2 penalty does not depend on the basis.
 */

import { cat, full, zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { minimise, type Point } from "./lbfgs.js";

/**
 * A linear classifier of unstandardized features: the standardization is folded in. It is on the device of the
 * features.
 */
export interface LinearFit {
  readonly weight: Tensor; // [classes, width]
  readonly bias: Tensor; // [classes]
  readonly c: number;
  readonly iterations: number;
  /** The largest entry of the gradient of the mean objective (divided by C·Σw); 0 at the exact solution. */
  readonly gradient: number;
  /** The full objective, as in scikit-learn. */
  readonly objective: number;
}

export interface LogisticOptions {
  readonly classes: number;
  /**
   * scikit-learn's C. Several values are solved from the strongest penalty to the weakest, each starting from the
   * previous solution.
   */
  readonly strengths: readonly number[];
  /** A weight for each class; all 1 by default. */
  readonly classWeights?: readonly number[];
  /** Stops when no entry of the gradient of the mean objective exceeds this value. */
  readonly tolerance?: number;
  readonly mostIterations?: number;
  /** float64 by default. float32 takes half the time and is sufficient to choose a strength. */
  readonly dtype?: "float64" | "float32";
}

/** Class weights n / (classes · count), as scikit-learn's `balanced`. */
export function balancedWeights(labels: ArrayLike<number>, classes: number): number[] {
  const counts = new Array<number>(classes).fill(0);
  for (let i = 0; i < labels.length; i++) counts[labels[i]]++;
  const present = counts.filter((count) => count > 0).length;
  return counts.map((count) => (count === 0 ? 0 : labels.length / (present * count)));
}

/**
 * Fits features [n, width] to labels, once for each strength, in the given order. The fits belong to the current scope.
 *
 * @example const [fit] = fitLogistic(features, labels, { classes: 7, strengths: [0.01] });
 */
export function fitLogistic(features: Tensor, labels: ArrayLike<number>, options: LogisticOptions): LinearFit[] {
  const { classes, strengths, classWeights, tolerance = 1e-8, mostIterations = 2000, dtype = "float64" } = options;
  if (features.rows === 0 || features.rows !== labels.length)
    throw new UsageError(
      `logistic regression: expected a label for each of some features, got ${features.rows} features and ${labels.length} labels`,
    );
  const wrong = strengths.find((c) => !(c > 0 && Number.isFinite(c)));
  if (wrong !== undefined) throw new UsageError(`logistic regression: C must be larger than 0, got ${wrong}`);
  return noGrad(() =>
    scope(() => {
      const problem = new Problem(features.toDType(dtype), labels, { classes, classWeights });
      const fits = new Map<number, LinearFit>();
      let start = zeros([problem.rank + 1, classes], { dtype, device: features.device });
      for (const c of [...new Set(strengths)].sort((a, b) => a - b)) {
        const ridge = 1 / (c * problem.total);
        const found = minimise((theta) => problem.at(theta, ridge), {
          ...{ start, tolerance, mostIterations, inverse: problem.inverseHessian(start, ridge) },
        });
        start = found.theta;
        const { iterations, gradient, value } = found;
        fits.set(c, { ...problem.unrotated(start), c, iterations, gradient, objective: value / ridge });
      }
      return strengths.map((c) => fits.get(c)!);
    }),
  );
}

/** Standardized features in the basis of their principal directions, and the objective in that basis. */
class Problem {
  /** [n, rank + 1]: rotated features, and a column of ones for the intercept. */
  private readonly z: Tensor;
  private readonly zT: Tensor;
  private readonly target: Tensor; // [n, classes], one-hot times weight
  private readonly weights: Tensor; // [n, 1]
  private readonly mean: Tensor;
  private readonly deviation: Tensor;
  private readonly basis: Tensor; // [width, rank]
  /** The mean square of each column of z. */
  readonly variances: Tensor; // [rank + 1, 1]
  readonly rank: number;
  readonly total: number;

  constructor(
    x: Tensor,
    labels: ArrayLike<number>,
    { classes, classWeights }: { classes: number; classWeights?: readonly number[] },
  ) {
    const { device, dtype } = x;
    this.mean = x.mean(0, true);
    const spread = x.variance(0, { correction: 0, keepdim: true }).sqrt();
    this.deviation = spread.where(spread.gt(0), 1); // a constant feature carries no information and stays 0
    const standardised = x.sub(this.mean).div(this.deviation);
    const { values, vectors } = principal(standardised);
    this.basis = vectors;
    this.rank = vectors.size(1);
    const y = tensor(Int32Array.from(labels), { device }).toDType("int64");
    const weight = tensor(
      Float64Array.from({ length: classes }, (_, k) => classWeights?.[k] ?? 1),
      { dtype, device },
    );
    this.weights = weight.take(y).unsqueeze(1);
    this.total = this.weights.sum().item();
    this.target = y.oneHot(classes).toDType(dtype).mul(this.weights);
    this.z = withColumn(standardised.matmul(vectors), 1);
    this.zT = this.z.t().contiguous();
    this.variances = withRow(values.unsqueeze(1), 1);
  }

  /** The mean objective (divided by C · Σw) and its gradient at theta [rank + 1, classes]. `ridge` is 1 / (C · Σw). */
  at(theta: Tensor, ridge: number): Point {
    return scope(() => {
      const logs = this.z.matmul(theta).logSoftmax(1);
      const loss = this.target.mul(logs).sum().item() / -this.total;
      const residual = logs.exp().mul(this.weights).sub(this.target);
      const penalised = this.penalised(theta);
      const gradient = this.zT.matmul(residual).div(this.total).add(penalised.mul(ridge));
      return { value: loss + (ridge / 2) * penalised.square().sum().item(), gradient };
    });
  }

  /**
   * The approximate inverse of the Hessian's diagonal, [rank + 1, 1]. Along a direction, the diagonal is variance ·
   * mean p(1 − p) + ridge.
   */
  inverseHessian(theta: Tensor, ridge: number): Tensor {
    return scope(() => {
      const p = this.z.matmul(theta).softmax(1);
      const curvature = p.neg().add(1).mul(p).mul(this.weights).sum().item() / (this.total * theta.size(1));
      const ridges = withRow(full([this.rank, 1], ridge, like(theta)), 0); // the intercept is not penalized
      return this.variances.mul(Math.max(curvature, 1e-4)).add(ridges).reciprocal();
    });
  }

  /** Theta without its intercept, which is not penalized. */
  private penalised(theta: Tensor): Tensor {
    return withRow(theta.narrow(0, 0, this.rank), 0);
  }

  /** The classifier of unstandardized features. */
  unrotated(theta: Tensor): Pick<LinearFit, "weight" | "bias"> {
    const weight = this.basis.matmul(theta.narrow(0, 0, this.rank)).div(this.deviation.t()); // [width, classes]
    const bias = theta.narrow(0, this.rank, 1).sub(this.mean.matmul(weight)).squeeze(0);
    return { weight: weight.t().contiguous(), bias };
  }
}

/**
 * The principal directions of standardized features and the variance along each, without directions of zero variance.
 */
function principal(x: Tensor): { values: Tensor; vectors: Tensor } {
  const [n, width] = x.shape;
  const few = n < width; // the smaller of the two Gram matrices has the same nonzero eigenvalues
  const gram = (few ? x.matmul(x.t()) : x.t().matmul(x)).div(n);
  const [values, vectors] = gram.linalgEigh();
  const all = values.toNumbers(); // in ascending order
  const epsilon = x.dtype === "float64" ? 2 ** -52 : 2 ** -23;
  const least = Math.max(n, width) * epsilon * Math.max(all.at(-1) ?? 0, Number.MIN_VALUE);
  const first = all.findIndex((value) => value > least);
  if (first < 0) return { values: zeros([0], like(x)), vectors: zeros([width, 0], like(x)) };
  const kept = values.narrow(0, first, all.length - first);
  const own = vectors.narrow(1, first, all.length - first);
  const directions = few ? x.t().matmul(own).div(kept.mul(n).sqrt().unsqueeze(0)) : own;
  return { values: kept.contiguous(), vectors: directions.contiguous() };
}

const like = ({ dtype, device }: Tensor) => ({ dtype, device });

const withColumn = (x: Tensor, value: number): Tensor => cat([x, full([x.rows, 1], value, like(x))], 1);
const withRow = (x: Tensor, value: number): Tensor => cat([x, full([1, x.size(1)], value, like(x))]);
