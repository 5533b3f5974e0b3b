/**
 * What more pictures would bring, and of which source or class, measured with exact probes on the pictures there are: models of an eighth, a quarter and a half
 * of them against one of all, on domains that none of them was trained on; models without one more domain; and models with a few labelled pictures
 * of the held-out domain itself. Features are computed once, so each model takes about a second. C is chosen once, on all domains.
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import type { SplitName } from "../data/split.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { chooseStrength, fitProbe, type LabelledFeatures, rightOf } from "../probe/choose-strength.js";
import { nearCopyGroups } from "../probe/near-copies.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { type FeatureSamples, featuresOf } from "../training/exact-probe.js";

/** A difference of accuracies and the standard error of it, over the same pictures. */
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
  /** What the last doubling brought, and what the next one brings if the curve goes on as it has. */
  readonly doubling: Gain & { readonly next: number };
  /** What each fold of domains adds as training pictures to the accuracy on the others. */
  readonly sources: readonly (Gain & { readonly domains: readonly string[] })[];
  /** Of each class: its training pictures, its recall on held-out pictures, and what the last doubling added to that. */
  readonly classes: readonly (Gain & { readonly name: string; readonly pictures: number; readonly recall: number })[];
  /** Of each domain taken as new: accuracy on half of it with so many labelled pictures of each class from its other half. */
  readonly newSource: readonly {
    readonly domain: string;
    readonly points: readonly { readonly perClass: number; readonly accuracy: number }[];
  }[];
}

const SHARES = [1 / 8, 1 / 4, 1 / 2, 1] as const;
/** Draws of pictures for a share; all of them are one set. */
const REPEATS = 3;
const ADDED = [0, 1, 2, 4, 8, 16] as const;
/** Pictures that are used, evenly of all domains. */
const MOST_PICTURES = 10_000;
const ALL: readonly SplitName[] = ["in", "out", "uda"];
const QUICK = { tolerance: 1e-4, dtype: "float32" } as const;

export interface CurveOptions {
  /** Called with what is being measured. */
  readonly onProgress?: (text: string) => void;
}

/** Measures the curve. */
export function learningCurve(
  samples: FeatureSamples,
  { settings }: Plan,
  { onProgress = () => {} }: CurveOptions = {},
): LearningCurve {
  const { classes, hparams, device } = settings;
  const names = trainDomainsOf(settings);
  return noGrad(() =>
    scope(() => {
      const read = (name: string, parts: readonly SplitName[]): LabelledFeatures =>
        fewer(featuresOf(samples, name, parts, device), MOST_PICTURES / names.length);
      const whole = new Map(names.map((name) => [name, read(name, ALL)]));
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
      // For each fold and share, how often each tested picture was right.
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
        newSource: heldOut ? names.map((name) => newSource(name, { whole, groups, fit, onProgress })) : [],
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

/** What a fold adds as training pictures to the accuracy on each of the others. */
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

/** Accuracy on half of a domain with a few pictures of its other half, both ways. */
function newSource(
  name: string,
  {
    whole,
    groups,
    fit,
    onProgress,
  }: {
    whole: ReadonlyMap<string, LabelledFeatures>;
    groups: readonly (readonly string[])[];
    fit: Fit;
    onProgress: (text: string) => void;
  },
): LearningCurve["newSource"][number] {
  const domain = whole.get(name)!;
  const others = groups
    .filter((group) => !group.includes(name))
    .flatMap((group) => group.map((each) => whole.get(each)!));
  const order = byClass(domain, ["new source", name]);
  const halves = [0, 1].map((parity) =>
    [...order.values()].flatMap((places) => places.filter((_, i) => i % 2 === parity)),
  );
  const largest = Math.max(...[...order.values()].map(({ length }) => Math.floor(length / 2)));
  const points = ADDED.filter((perClass) => perClass === 0 || perClass <= largest).map((perClass) => {
    onProgress(`learning curve: ${perClass} pictures of each class of ${name} added`);
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

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The mean of several lists, place by place. */
const meanOf = (lists: readonly number[][]): number[] => lists[0].map((_, i) => mean(lists.map((list) => list[i])));

const count = (domains: readonly LabelledFeatures[], label: number): number =>
  domains.reduce((sum, { labels }) => sum + Array.from(labels).filter((each) => each === label).length, 0);

const taken = ({ x, labels }: LabelledFeatures, places: readonly number[]): LabelledFeatures => ({
  x: x.take(places),
  labels: places.map((place) => labels[place]),
});

/** The places of each class, in an order that is always the same. */
function byClass({ labels }: LabelledFeatures, purpose: readonly (string | number)[]): Map<number, number[]> {
  const places = new Map<number, number[]>();
  for (const i of keyedRandom(0, ...purpose).permutation(labels.length))
    places.set(labels[i], [...(places.get(labels[i]) ?? []), i]);
  return places;
}

/** A share of each class, at least one picture. */
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

/** What another doubling brings if gains go on shrinking as they did from the last but one to the last: a power law. */
export function nextGain(accuracies: readonly number[]): number {
  const [before, half, all] = accuracies.slice(-3);
  const [first, last] = [half - before, all - half];
  return first > 0 && last > 0 ? Math.min(1 - all, last * Math.min(1, last / first)) : 0;
}
