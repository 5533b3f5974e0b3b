/**
 * Estimates the benefit of more pictures, by source and class, with exact probes on the existing pictures: models trained on an
 * eighth, a quarter and a half of them compared with a model trained on all, on domains that none of them was trained on; models
 * without one more domain; and models with a few labelled pictures of the held-out domain itself. Features are computed once, so
 * each model takes about a second. C is chosen once, on all domains.
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { groupByFile } from "../data/own-split.js";
import { countOf } from "../data/show-name.js";
import type { SplitName } from "../data/split.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { groupBy } from "../group-by.js";
import { chooseStrength, fitProbe, type LabelledFeatures, rightOf } from "../probe/choose-strength.js";
import { nearCopyGroups } from "../probe/near-copies.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { ALL_PARTS, type FeatureSamples, featuresOf, placesOf } from "../training/exact-probe.js";

/** A difference of accuracies on the same pictures, and its standard error. */
export interface Gain {
  readonly gain: number;
  readonly error: number;
}

export interface LearningCurve {
  readonly format: 1;
  readonly by: "held-out domains" | "validation";
  /** Domains that are held out together. */
  readonly folds: readonly (readonly string[])[];
  readonly c: number;
  /** Accuracy with a share of the training pictures of each class and domain; the mean over folds and repetitions. */
  readonly sizes: readonly { readonly share: number; readonly pictures: number; readonly accuracy: number }[];
  /** The gain of the last doubling, and the extrapolated gain of the next one; null if one of the last two doublings had no gain. */
  readonly doubling: Gain & { readonly next: number | null };
  /** The gain in accuracy on the other folds from training on each fold of domains. */
  readonly sources: readonly (Gain & { readonly domains: readonly string[] })[];
  /** For each class, the number of its training pictures, its recall on held-out pictures, and the gain in recall of the last doubling. */
  readonly classes: readonly (Gain & { readonly name: string; readonly pictures: number; readonly recall: number })[];
  /** For each domain, treated as new: the accuracy on one half of it after training with some labelled pictures per class from the other half. */
  readonly newSource: readonly {
    readonly domain: string;
    readonly points: readonly { readonly perClass: number; readonly accuracy: number }[];
  }[];
}

const SHARES = [1 / 8, 1 / 4, 1 / 2, 1] as const;
/** The number of random draws for each share below 1. */
const REPEATS = 3;
const ADDED = [0, 1, 2, 4, 8, 16] as const;
/** The maximum number of pictures that are used, evenly from all domains. */
const MOST_PICTURES = 10_000;
const QUICK = { tolerance: 1e-4, dtype: "float32" } as const;

export interface CurveOptions {
  /** Called with a description of the current measurement. */
  readonly onProgress?: (text: string) => void;
}

/** Measures the curve. */
export function learningCurve(
  samples: FeatureSamples,
  { dataset, settings }: Plan,
  { onProgress = () => {} }: CurveOptions = {},
): LearningCurve {
  const { classes, hparams, device } = settings;
  const names = trainDomainsOf(settings);
  return noGrad(() =>
    scope(() => {
      const read = (name: string, parts: readonly SplitName[]): LabelledFeatures =>
        fewer(featuresOf(samples, name, parts, device), MOST_PICTURES / names.length);
      const ofFile = groupByFile(dataset);
      // The group of near-duplicates of each picture of a domain, in the order of its features.
      const alike = (name: string): (number | undefined)[] => {
        const places = placesOf(samples.split, name, ALL_PARTS);
        const { files } = dataset.domains.find((domain) => domain.name === name)!;
        return evenlyChosen(places, Math.ceil(MOST_PICTURES / names.length)).map((place) =>
          ofFile.get(files?.[place] ?? ""),
        );
      };
      const whole = new Map(names.map((name) => [name, read(name, ALL_PARTS)]));
      const groups = nearCopyGroups(names.map((name) => whole.get(name)!.x)).map((group) => group.map((i) => names[i]));
      const options = { classes: classes.length, balanced: hparams.classBalanced === true };
      const { c } = chooseStrength(
        groups.map((group) => group.map((name) => whole.get(name)!)),
        options,
      );
      const fit = (training: readonly LabelledFeatures[], tested: readonly LabelledFeatures[]): number[] =>
        scope(() => {
          const [found] = fitProbe(training, [c], options, QUICK);
          return tested.flatMap((domain) => Array.from(rightOf(found, domain)));
        });
      const heldOut = groups.length > 1;
      const folds = heldOut
        ? groups.map((group) => ({
            domains: group,
            tested: group.map((name) => whole.get(name)!),
            training: groups
              .filter((other) => other !== group)
              .flatMap((other) => other.map((name) => whole.get(name)!)),
          }))
        : [
            {
              domains: names,
              tested: names.map((name) => read(name, ["out"])),
              training: names.map((name) => read(name, ["in"])),
            },
          ];
      // For each fold and share, how often the prediction of each tested picture was correct.
      const right = folds.map(({ domains, tested, training }, f) =>
        SHARES.map((share, s) => {
          onProgress(`learning curve: ${(100 * share).toFixed(0)} % of the pictures, without ${domains.join(", ")}`);
          const draws = share === 1 ? 1 : REPEATS;
          return meanOf(
            Array.from({ length: draws }, (_, draw) =>
              scope(() =>
                fit(
                  training.map((domain, d) => part(domain, share, ["curve", f, s, draw, d])),
                  tested,
                ),
              ),
            ),
          );
        }),
      );
      const accuracies = SHARES.map((_, s) => mean(right.map((fold) => mean(fold[s]))));
      const pictures = mean(folds.map(({ training }) => training.reduce((sum, { x }) => sum + x.rows, 0)));
      const last = gainOf(
        right.map((fold) => fold[SHARES.length - 2]),
        right.map((fold) => fold[SHARES.length - 1]),
      );
      const labels = folds.map(({ tested }) => tested.flatMap((domain) => Array.from(domain.labels)));
      return {
        format: 1,
        by: heldOut ? "held-out domains" : "validation",
        folds: folds.map(({ domains }) => domains),
        c,
        sizes: SHARES.map((share, s) => ({ share, pictures: Math.round(share * pictures), accuracy: accuracies[s] })),
        doubling: { ...last, next: nextGain(accuracies) },
        sources: heldOut && folds.length > 2 ? sourceGains(folds, right, fit, onProgress) : [],
        classes: classes.map((name, k) => {
          const of = (s: number): number[] => right.flatMap((fold, f) => fold[s].filter((_, i) => labels[f][i] === k));
          const [half, all] = [of(SHARES.length - 2), of(SHARES.length - 1)];
          const counts = folds.map(({ training }) => count(training, k));
          return { name, pictures: Math.round(mean(counts)), recall: mean(all), ...gainOf([half], [all]) };
        }),
        newSource: heldOut
          ? names.map((name) => newSource(name, { whole, groups, alike: alike(name), fit, onProgress }))
          : [],
      };
    }),
  );
}

interface Fold {
  readonly domains: readonly string[];
  readonly tested: readonly LabelledFeatures[];
  readonly training: readonly LabelledFeatures[];
}

type Fit = (training: readonly LabelledFeatures[], tested: readonly LabelledFeatures[]) => number[];

/** The gain in accuracy on the other folds from training on a fold. */
function sourceGains(
  folds: readonly Fold[],
  right: readonly (readonly number[][])[],
  fit: Fit,
  onProgress: (text: string) => void,
): LearningCurve["sources"] {
  return folds.map((added) => {
    const others = folds.filter((fold) => fold !== added);
    const without = others.map(({ tested, training, domains }) => {
      onProgress(`learning curve: without ${[...domains, ...added.domains].join(", ")}`);
      return fit(
        training.filter((domain) => !added.tested.includes(domain)),
        tested,
      );
    });
    const withIt = others.map((fold) => right[folds.indexOf(fold)][SHARES.length - 1]);
    return { domains: added.domains, ...gainOf(without, withIt) };
  });
}

/** The accuracy on one half of a domain after training with a few pictures of the other half, averaged over both directions. */
function newSource(
  name: string,
  {
    whole,
    groups,
    alike,
    fit,
    onProgress,
  }: {
    whole: ReadonlyMap<string, LabelledFeatures>;
    groups: readonly (readonly string[])[];
    alike: readonly (number | undefined)[];
    fit: Fit;
    onProgress: (text: string) => void;
  },
): LearningCurve["newSource"][number] {
  const domain = whole.get(name)!;
  const others = groups
    .filter((group) => !group.includes(name))
    .flatMap((group) => group.map((each) => whole.get(each)!));
  const order = byClass(domain, ["new source", name]);
  const halves = halvesOf([...order.values()], alike);
  const largest = Math.max(...[...order.values()].map(({ length }) => Math.floor(length / 2)));
  const points = ADDED.filter((perClass) => perClass === 0 || perClass <= largest).map((perClass) => {
    onProgress(`learning curve: ${countOf(perClass, "picture")} of each class of ${name} added`);
    const accuracy = mean(
      [0, 1].map((from) =>
        scope(() => {
          const inside = new Set(halves[from]);
          const added = [...order.values()].flatMap((places) => places.filter((i) => inside.has(i)).slice(0, perClass));
          const more = perClass > 0 ? [taken(domain, added)] : [];
          return mean(fit([...others, ...more], [taken(domain, halves[1 - from])]));
        }),
      ),
    );
    return { perClass, accuracy };
  });
  return { domain: name, points };
}

/** Two halves of each class. Near-duplicates, which have the same group, are in the same half. */
export function halvesOf(
  classes: readonly (readonly number[])[],
  groups: readonly (number | undefined)[],
): [number[], number[]] {
  const halves: [number[], number[]] = [[], []];
  const ofGroup = new Map<number, number>();
  for (const places of classes) {
    const sizes = [0, 0];
    for (const place of places) {
      const group = groups[place];
      const known = group === undefined ? undefined : ofGroup.get(group);
      const half = known ?? (sizes[1] < sizes[0] ? 1 : 0);
      if (group !== undefined) ofGroup.set(group, half);
      sizes[half]++;
      halves[half].push(place);
    }
  }
  return halves;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The elementwise mean of several lists. */
const meanOf = (lists: readonly number[][]): number[] => lists[0].map((_, i) => mean(lists.map((list) => list[i])));

const count = (domains: readonly LabelledFeatures[], label: number): number =>
  domains.reduce((sum, { labels }) => sum + Array.from(labels).filter((each) => each === label).length, 0);

const taken = ({ x, labels }: LabelledFeatures, places: readonly number[]): LabelledFeatures => ({
  x: x.take(places),
  labels: places.map((place) => labels[place]),
});

/** The indices of each class in a reproducible random order. */
function byClass({ labels }: LabelledFeatures, purpose: readonly (string | number)[]): Map<number, number[]> {
  return groupBy(keyedRandom(0, ...purpose).permutation(labels.length), (place) => labels[place]);
}

/** A share of each class, with at least one picture. */
function part(domain: LabelledFeatures, share: number, purpose: readonly (string | number)[]): LabelledFeatures {
  if (share === 1) return domain;
  const places = [...byClass(domain, purpose).values()];
  return taken(
    domain,
    places.flatMap((all) => all.slice(0, Math.max(1, Math.round(share * all.length)))),
  );
}

function fewer(domain: LabelledFeatures, most: number): LabelledFeatures {
  if (domain.x.rows <= most) return domain;
  return taken(domain, evenlyChosen([...Array(domain.x.rows).keys()], Math.ceil(most)));
}

/** The mean over folds of the paired differences, and its standard error. */
export function gainOf(before: readonly (readonly number[])[], after: readonly (readonly number[])[]): Gain {
  const folds = before.map((fold, f) => fold.map((value, i) => after[f][i] - value)).filter(({ length }) => length > 0);
  if (folds.length === 0) return { gain: 0, error: 0 };
  const variance = (values: readonly number[]): number => {
    const centre = mean(values);
    return mean(values.map((value) => (value - centre) ** 2)) / Math.max(1, values.length - 1);
  };
  return {
    gain: mean(folds.map(mean)),
    error: Math.sqrt(folds.reduce((sum, fold) => sum + variance(fold), 0)) / folds.length,
  };
}

/**
 * The gain of another doubling if gains continue to shrink by the same factor (a power law). Null if one of the last two doublings
 * had no gain, because there is no such factor then.
 */
export function nextGain(accuracies: readonly number[]): number | null {
  const [before, half, all] = accuracies.slice(-3);
  const [first, last] = [half - before, all - half];
  return first > 0 && last > 0 ? Math.min(1 - all, last * Math.min(1, last / first)) : null;
}
