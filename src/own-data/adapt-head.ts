/**
 * Adapts the classifier of a model to a new site with a few labelled pictures from it: the exact probe is solved again on
 * training pictures and new ones, where each new one counts several times, and the new pictures join the neighbours that
 * vote. Cross-validation within the new pictures decides between this classifier and the old one.
 */

import { cat } from "../engine/ops.generated.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { fitProbe, type LabelledFeatures } from "../probe/choose-strength.js";
import type { LinearFit } from "../probe/logistic-regression.js";
import { logitsWithNeighbours, type Neighbours, neighboursOf } from "../probe/neighbours.js";

/** How often a new picture counts. Of 1, 4, 16 and 64, this was the best or close to it with 50 and 200 new pictures on PACS and Office-31. */
export const FRESH_WEIGHT = 16;
/** The number of training pictures that are used, evenly from all: more change little and take longer. */
export const MOST_TRAINING = 3000;
const FOLDS = 3;
const QUICK = { tolerance: 1e-4, dtype: "float32" } as const;

export interface AdaptOptions {
  readonly classes: number;
  /** scikit-learn's C of the exact probe. */
  readonly c: number;
  /** Whether neighbours vote. */
  readonly neighbours: boolean;
  /** The logits of the old classifier for the new pictures. */
  readonly old: readonly (readonly number[])[];
}

export interface Adapted {
  /** The number of new pictures that the old classifier predicts correctly, and the adapted one in cross-validation. */
  readonly right: { readonly old: number; readonly adapted: number };
  /** The logits of the chosen classifier for the new pictures, in cross-validation if it is the adapted one. */
  readonly logits: readonly (readonly number[])[];
  /** Null if the old classifier is better and stays. */
  readonly head: { readonly fit: LinearFit; readonly neighbours?: Neighbours } | null;
}

const taken = ({ x, labels }: LabelledFeatures, places: readonly number[]): LabelledFeatures => ({
  x: x.take(places) as Tensor,
  labels: places.map((i) => labels[i]),
});

/** Every fold has about the same number of each class. */
function foldsOf(labels: ArrayLike<number>): number[] {
  const folds = new Array<number>(labels.length);
  const order = Array.from(keyedRandom(0, "adapting folds").permutation(labels.length));
  order.sort((a, b) => labels[a] - labels[b]);
  for (const [n, place] of order.entries()) folds[place] = n % FOLDS;
  return folds;
}

const isRight = (row: readonly number[], label: number): boolean => row.indexOf(Math.max(...row)) === label;

function solved(training: LabelledFeatures, fresh: LabelledFeatures, options: AdaptOptions) {
  const [fit] = fitProbe(
    [training, ...new Array<LabelledFeatures>(FRESH_WEIGHT).fill(fresh)],
    [options.c],
    options,
    QUICK,
  );
  if (!options.neighbours) return { fit };
  const [known, more] = [neighboursOf([training], options.classes), neighboursOf([fresh], options.classes)];
  return { fit, neighbours: { rows: cat([known.rows, more.rows]), labels: cat([known.labels, more.labels]) } };
}

function logitsOf({ fit, neighbours }: { fit: LinearFit; neighbours?: Neighbours }, x: Tensor): number[][] {
  if (neighbours) return logitsWithNeighbours(fit, neighbours, x).both;
  return x.toDType(fit.weight.dtype).matmul(fit.weight.t()).add(fit.bias).toArray() as number[][];
}

/** Adapts. The tensors of the head belong to the current scope. */
export function adaptHead(training: LabelledFeatures, fresh: LabelledFeatures, options: AdaptOptions): Adapted {
  const { old } = options;
  const folds = foldsOf(fresh.labels);
  const count = (rows: readonly (readonly number[])[]): number =>
    rows.filter((row, i) => isRight(row, fresh.labels[i])).length;
  return noGrad(() =>
    scope(() => {
      const held = new Array<number[]>(folds.length);
      for (let fold = 0; fold < FOLDS; fold++)
        scope(() => {
          const places = (isInside: boolean): number[] =>
            [...folds.keys()].filter((i) => (folds[i] !== fold) === isInside);
          const [inside, outside] = [places(true), places(false)];
          const rows = logitsOf(solved(training, taken(fresh, inside), options), fresh.x.take(outside));
          for (const [n, i] of outside.entries()) held[i] = rows[n];
        });
      const right = { old: count(old), adapted: count(held) };
      // Of equals the adapted one is used: in cross-validation it has seen a third fewer new pictures.
      if (right.old > right.adapted) return { right, logits: old, head: null };
      return { right, logits: held, head: solved(training, fresh, options) };
    }),
  );
}
