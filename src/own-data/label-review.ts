/**
 * Out-of-fold predictions for all pictures of a folder: five folds, with each class of each domain spread evenly over
 * them, and for each fold an exact probe on the features of the other four. The prediction for a picture never depends
 * on its own label, nor on that of a near-duplicate, which is in the same fold.
 */

import { softmax } from "../analysis/judged.js";
import { type LabelError, likelyLabelErrors } from "../analysis/label-errors.js";
import { groupByFile } from "../data/own-split.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { fitProbe, type LabelledFeatures } from "../probe/choose-strength.js";
import type { Plan } from "../settings/resolve.js";
import { ALL_PARTS, type FeatureSamples, featuresOf, placesOf } from "../training/exact-probe.js";

/** A picture whose label should be checked: a model that was not trained on it predicts another class. */
export interface ReviewedPicture {
  /** Relative to the dataset's root. */
  readonly path: string;
  readonly domain: string;
  readonly label: string;
  readonly suggested: string;
  /** The out-of-fold probabilities of the suggested class and of the current label. */
  readonly probability: number;
  readonly given: number;
}

const FOLDS = 5;
/** A strong L2 penalty: a wrong label must not be memorized from its neighbours. */
const STRENGTH = 0.01;

/** The pictures of a dataset whose labels should be checked, the clearest disagreements first. */
export function reviewLabels(samples: FeatureSamples, { dataset, settings }: Plan): ReviewedPicture[] {
  const { classes, device } = settings;
  return noGrad(() =>
    scope(() => {
      const domains = dataset.domains.map(({ name, files }) => {
        const places = placesOf(samples.split, name, ALL_PARTS);
        return { name, ...featuresOf(samples, name, ALL_PARTS, device), files: places.map((place) => files![place]) };
      });
      const groups = groupByFile(dataset);
      const folds = domains.map(({ labels, files }, d) =>
        foldsOf(
          labels,
          files.map((file) => groups.get(file)),
          d,
        ),
      );
      const found: { path: string; domain: string; label: number; row: ArrayLike<number> }[] = [];
      for (let fold = 0; fold < FOLDS; fold++)
        scope(() => {
          const part = (isInside: (of: number) => boolean): LabelledFeatures[] =>
            domains.map(({ x, labels }, d) => {
              const places = folds[d].flatMap((of, i) => (isInside(of) ? [i] : []));
              return { x: x.take(places) as Tensor, labels: places.map((i) => labels[i]) };
            });
          const [{ weight, bias }] = fitProbe(
            part((of) => of !== fold),
            [STRENGTH],
            { classes: classes.length },
          );
          for (const [d, held] of part((of) => of === fold).entries()) {
            if (held.labels.length === 0) continue;
            const rows = held.x.toDType(weight.dtype).matmul(weight.t()).add(bias).toArray() as number[][];
            const { name: domain, files } = domains[d];
            const places = folds[d].flatMap((of, i) => (of === fold ? [i] : []));
            for (const [i, place] of places.entries())
              found.push({ path: files[place], domain, label: held.labels[i], row: softmax(rows[i]) });
          }
        });
      const errors = likelyLabelErrors(
        found.map(({ row }) => row),
        found.map(({ label }) => label),
        classes.length,
      );
      return errors.map((error) => pictureOf(error, found[error.place], classes));
    }),
  );
}

const pictureOf = (
  { suggested, probability, given }: LabelError,
  { path, domain, label }: { path: string; domain: string; label: number },
  classes: readonly string[],
): ReviewedPicture => ({ path, domain, label: classes[label], suggested: classes[suggested], probability, given });

/**
 * The fold of each picture of a domain: each class is distributed in a fixed order, and pictures of one group are in one
 * fold.
 */
export function foldsOf(
  labels: ArrayLike<number>,
  groups: readonly (number | undefined)[],
  domain: number,
): readonly number[] {
  const order = keyedRandom(0, "label review", domain).permutation(labels.length);
  const dealt = new Map<number, number>();
  const ofGroup = new Map<number, number>();
  const folds = new Array<number>(labels.length);
  for (const i of order) {
    const group = groups[i];
    const known = group === undefined ? undefined : ofGroup.get(group);
    const next = dealt.get(labels[i]) ?? labels[i] % FOLDS;
    folds[i] = known ?? next;
    if (known !== undefined) continue;
    if (group !== undefined) ofGroup.set(group, next);
    dealt.set(labels[i], (next + 1) % FOLDS);
  }
  return folds;
}
