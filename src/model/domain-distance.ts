/**
 * The distance of a picture from the training domains, by its features. Features are normalised to length 1 (a new
 * domain often has smaller features overall, which would be close to everything). The training pictures of one domain
 * and class form a cell with its own mean; all cells share the within-cell variance of each feature, with a tenth
 * replaced by its mean over features. The distance is the Mahalanobis distance to the nearest cell:
 *
 *     d² = min_c mean_j (z_j − μ_cj)²/v_j,   z = features/‖features‖,   v = 0.9·variance within cells + 0.1·its mean
 *
 * If there are too few pictures for cells of domain and class, the cells are the classes. Means and variances come from
 * training pictures. Distances are compared with those of validation pictures of the same domains, because training
 * moves its own pictures closer together.
 */

import type { DType } from "../engine/dtype.js";
import { cat, stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";

/** The tensors of the score are stored under names that no module can have. */
export const DISTANCE_PREFIX = "distance/";

/** The required number of pictures per cell, on average and at least. */
const USUAL_CELL = 8;
const LEAST_CELL = 2;

/** The share of the mean variance in every variance: a feature that never varied would make any change infinitely far. */
const SHRINKAGE = 0.1;

/** The number of stored quantiles of the reference distances, from minimum to maximum. */
const QUANTILES = 1000;

/** The distance of a picture from the training domains. */
export interface DomainDistance {
  /** About 1 for a picture of a training domain. */
  readonly score: number;
  /**
   * The distance percentile: the percentage of validation pictures of the training domains that are nearer. About 50
   * for pictures like those, 100 for one that is farther than all of them.
   */
  readonly percentile: number;
  /** The most similar training domain. */
  readonly nearest: string;
}

/** The tensors of the score, float32. */
export interface DistanceStatistics {
  readonly means: Tensor; // [cells, width]
  readonly domainMeans: Tensor; // [domains, width]
  readonly variances: Tensor; // [width]
  readonly quantiles: Tensor; // [m], ascending
}

const NAMES = ["means", "domainMeans", "variances", "quantiles"] as const;

/** The features of one domain's pictures, [n, width], and their classes. */
export interface DomainFeatures {
  readonly features: Tensor;
  readonly labels: readonly number[];
}

/**
 * Computes the statistics from training pictures, by domain, and from features of validation pictures. Returns null if
 * there are too few. The tensors belong to the enclosing scope.
 */
export function fitDistance(trained: readonly DomainFeatures[], heldBack: Tensor): DistanceStatistics | null {
  if (trained.length === 0 || trained.some(({ labels }) => labels.length === 0) || heldBack.rows === 0) return null;
  return noGrad(() =>
    scope(() => {
      const domains = trained.map(({ features, labels }) => ({ z: unitRows(features), labels }));
      const cells = cellsOf(domains);
      if (cells.length === 0) return null;
      const means = stack(cells.map((cell) => cell.mean(0))); // [cells, width]
      const within = cat(cells.map((cell) => cell.sub(cell.mean(0, true)))); // [n, width]
      const variances = within
        .square()
        .sum(0)
        .div(within.rows - cells.length); // [width]
      const mean = variances.mean().item();
      if (!(mean > 0)) return null; // all features are equal, so there are no distances
      const float = (values: Tensor): Tensor => values.to({ dtype: "float32" });
      const statistics = {
        means: float(means),
        domainMeans: float(stack(domains.map(({ z }) => z.mean(0)))),
        variances: float(variances.mul(1 - SHRINKAGE).add(SHRINKAGE * mean)),
      };
      const scores = distancesTo(statistics, heldBack).map(({ score }) => score);
      return { ...statistics, quantiles: tensor(quantilesOf(scores), { dtype: "float32" }) };
    }),
  );
}

/** Rows normalised to length 1, by default in float64 on the CPU. A row of zeros is not changed. */
function unitRows(features: Tensor, dtype: DType = "float64"): Tensor {
  const exact = features.to({ dtype, device: "cpu" });
  return exact.div(exact.norm(1, { keepdim: true }).clamp(1e-30));
}

/** The rows of each cell: of each domain and class, or, if those are too small, of each class. */
function cellsOf(domains: readonly { readonly z: Tensor; readonly labels: readonly number[] }[]): Tensor[] {
  const classes = [...new Set(domains.flatMap(({ labels }) => labels))].sort((a, b) => a - b);
  const count = domains.reduce((sum, { labels }) => sum + labels.length, 0);
  const rowsOf = (label: number, { z, labels }: (typeof domains)[number]): Tensor =>
    z.take(Array.from(labels.keys()).filter((i) => labels[i] === label));
  const fine = domains.flatMap((domain) => classes.map((label) => rowsOf(label, domain)));
  const isFine = count >= USUAL_CELL * fine.filter(({ rows }) => rows > 0).length;
  const cells = isFine ? fine : classes.map((label) => cat(domains.map((domain) => rowsOf(label, domain))));
  return cells.filter(({ rows }) => rows >= LEAST_CELL);
}

function quantilesOf(scores: readonly number[]): number[] {
  const sorted = scores.toSorted((a, b) => a - b);
  if (sorted.length <= QUANTILES) return sorted;
  return Array.from({ length: QUANTILES }, (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (QUANTILES - 1))]);
}

/** The score of each row of features, and the index of the nearest domain. */
export function distancesTo(
  statistics: Omit<DistanceStatistics, "quantiles">,
  features: Tensor,
): { score: number; nearest: number }[] {
  return noGrad(() =>
    scope(() => {
      const scores = scoresOf(squaresTo(statistics, statistics.means, features)).toNumbers();
      const places = squaresTo(statistics, statistics.domainMeans, features).mul(-1).argmax(1).toNumbers();
      return scores.map((score, i) => ({ score, nearest: places[i] }));
    }),
  );
}

/** The distance percentile of each row of features, in float32 throughout: what an exported model computes. */
export function distancePercentiles(statistics: DistanceStatistics, features: Tensor): Tensor {
  const scores = scoresOf(squaresTo(statistics, statistics.means, features, "float32"));
  const isBelow = statistics.quantiles.to({ device: "cpu" }).lt(scores.unsqueeze(1)); // [n, m]
  return isBelow.toDType("float32").mean(1).mul(100);
}

/** mean_j (z_j − c_kj)²/v_j of each row and centre, [n, centres]. */
function squaresTo(
  { variances }: Pick<DistanceStatistics, "variances">,
  centres: Tensor,
  features: Tensor,
  dtype: DType = "float64",
): Tensor {
  const scale = variances.to({ dtype, device: "cpu" }).rsqrt();
  const z = unitRows(features, dtype).mul(scale);
  return squaredDistances(z, centres.to({ dtype, device: "cpu" }).mul(scale)).div(variances.numel);
}

const scoresOf = (squares: Tensor): Tensor => squares.min(1).sqrt();

/** ‖x_i − c_j‖² for all pairs, as one product: the differences themselves would not fit in memory. */
function squaredDistances(x: Tensor, centres: Tensor): Tensor {
  const products = x.mm(centres.t());
  return x.square().sum(1, true).sub(products.mul(2)).add(centres.square().sum(1)).clamp(0);
}

/** The share of the quantiles below a score. */
export function shareBelow(quantiles: ArrayLike<number>, score: number): number {
  let below = 0;
  for (let i = 0; i < quantiles.length; i++) if (quantiles[i] < score) below++;
  return below / quantiles.length;
}

/** The statistics by the names they are stored under. */
export const storedDistance = (statistics: DistanceStatistics): Map<string, Tensor> =>
  new Map(NAMES.map((name) => [`${DISTANCE_PREFIX}${name}`, statistics[name]]));

/** The statistics from the tensors of a file, checked against the model's domains and number of features. */
export function readDistance(
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  { domains, width }: { domains: number; width: number },
): DistanceStatistics {
  const found = NAMES.map((name) => {
    const value = tensors.get(`${DISTANCE_PREFIX}${name}`);
    if (value?.dtype !== "float32")
      throw new DataError(`${path}: expected a tensor "${DISTANCE_PREFIX}${name}" in float32, for the distance score`);
    return [name, value] as const;
  });
  const statistics = Object.fromEntries(found) as unknown as DistanceStatistics;
  const { means, domainMeans, variances, quantiles } = statistics;
  const shapes = [
    ["means", means, [Math.max(1, means.shape[0] ?? 0), width]],
    ["domainMeans", domainMeans, [domains, width]],
    ["variances", variances, [width]],
    ["quantiles", quantiles, [Math.max(1, quantiles.shape[0] ?? 0)]],
  ] as const;
  for (const [name, { shape }, expected] of shapes)
    if (`${shape}` !== `${expected}`)
      throw new DataError(
        `${path}: "${DISTANCE_PREFIX}${name}": the shape [${shape.join(", ")}] does not match ${domains} domains and ${width} features`,
      );
  const isPositive = variances.toNumbers().every((value) => value > 0 && Number.isFinite(value));
  if (!isPositive) throw new DataError(`${path}: "${DISTANCE_PREFIX}variances": expected positive numbers`);
  return statistics;
}
