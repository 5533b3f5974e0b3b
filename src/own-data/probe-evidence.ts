/**
 * The results of the exact probe on held-out domains, before anything is trained: near-identical domains are found, C
 * is chosen for all domains, and each fold has a probe whose C and temperature were chosen without that fold. This
 * takes seconds, because features are computed once.
 */

import { type Judged, type JudgedLogits, judge } from "../analysis/judged.js";
import { fitTemperature } from "../analysis/temperature.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import type { SplitName } from "../data/split.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { distancesTo, fitDistance, shareBelow } from "../model/domain-distance.js";
import { type ChosenStrength, chooseStrength, fitProbe, type LabelledFeatures } from "../probe/choose-strength.js";
import type { LinearFit } from "../probe/logistic-regression.js";
import { nearCopyGroups } from "../probe/near-copies.js";
import { logitsWithNeighbours, neighboursOf } from "../probe/neighbours.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { ALL_PARTS, type FeatureSamples, featuresOf, placesOf } from "../training/exact-probe.js";

export interface ProbeEvidence {
  /**
   * Domains that are held out together. With a single fold there is nothing to hold out, and validation pictures are
   * used instead.
   */
  readonly folds: readonly (readonly string[])[];
  /** Groups of domains with nearly identical pictures. */
  readonly nearCopies: readonly (readonly string[])[];
  readonly choice: ChosenStrength;
  /**
   * For each fold, the C that the other folds choose, and the predictions of that probe (for a single fold: on its
   * validation part).
   */
  readonly held: readonly HeldFold[];
}

/** The predictions for the pictures of a fold, by a probe that was trained without it. */
export interface HeldFold {
  readonly domains: readonly string[];
  readonly c: number;
  /** With neighbours, if the plan asks for them. */
  readonly judged: readonly JudgedLogits[];
  /** The distance percentiles of correctly predicted pictures, from the domains that the probe was trained on. */
  readonly percentiles: readonly number[];
  /** With neighbours: the predictions of the exact probe alone, and of the neighbours alone. */
  readonly alone?: { readonly probe: readonly Judged[]; readonly neighbours: readonly Judged[] };
}

/** There is one fine-tuning run per fold, so with more domains than this, some are held out together. */
const MOST_FOLDS = 5;

interface Domain extends LabelledFeatures {
  readonly name: string;
  readonly files: readonly string[];
}

/** The groups of domains that are near-copies of each other. */
export const nearCopiesOf = (
  samples: FeatureSamples,
  { settings }: Plan,
  names: readonly string[] = trainDomainsOf(settings),
): string[][] =>
  scope(() => {
    const groups = nearCopyGroups(names.map((name) => featuresOf(samples, name, ALL_PARTS, settings.device).x));
    return groups.filter(({ length }) => length > 1).map((group) => group.map((at) => names[at]));
  });

/** Computes the results. `leaveOut` is false if no domain is to be held out. */
export function probeEvidence(samples: FeatureSamples, plan: Plan, leaveOut = true): ProbeEvidence {
  const { classes, hparams, device } = plan.settings;
  const options = { classes: classes.length, balanced: hparams.classBalanced === true };
  const names = trainDomainsOf(plan.settings);
  const withNeighbours = plan.settings.neighbours === true;
  const read = (name: string, parts: readonly SplitName[]): Domain => ({
    name,
    ...featuresOf(samples, name, parts, device),
    files: filesOf(plan, samples, name, parts),
  });
  return noGrad(() =>
    scope(() => {
      const whole = new Map(names.map((name) => [name, read(name, ALL_PARTS)]));
      const groups = leaveOut
        ? nearCopyGroups(names.map((name) => whole.get(name)!.x)).map((group) => group.map((at) => names[at]))
        : [names];
      const folds = foldsOf(groups, (name) => whole.get(name)!.x.rows);
      const domainsOf = (fold: readonly string[]): Domain[] => fold.map((name) => whole.get(name)!);
      const choice = chooseStrength(folds.map(domainsOf), options);
      const held = folds.map((domains) =>
        scope(() => {
          const rest = folds.filter((fold) => fold !== domains);
          const c = rest.length > 0 ? chooseStrength(rest.map(domainsOf), options).c : choice.c;
          const inside = (rest.length > 0 ? rest.flat() : domains).map((name) => read(name, ["in"]));
          const outside = (rest.length > 0 ? rest.flat() : domains).map((name) => read(name, ["out"]));
          const [fit] = fitProbe(inside, [c], options);
          const neighbours = withNeighbours ? neighboursOf(inside, classes.length) : undefined;
          const head = (domain: Domain) =>
            neighbours ? logitsWithNeighbours(fit, neighbours, domain.x) : { both: logitsOf(fit, domain) };
          const asked = rest.length > 0 ? domainsOf(domains) : outside;
          const temperature = temperatureOf(outside.map((domain) => ({ rows: head(domain).both, ...domain })));
          const rows = asked.map((domain) => ({ domain, ...head(domain) }));
          return {
            ...{ domains, c },
            judged: rows.flatMap(({ domain, both }) => judgedBy(both, domain, temperature)),
            percentiles: percentilesOf(
              inside,
              outside,
              rows.map(({ domain, both }) => rightOnes(domain, both)),
            ),
            ...(neighbours && { alone: aloneOf(rows as readonly AloneRows[]) }),
          };
        }),
      );
      const nearCopies = leaveOut ? groups.filter(({ length }) => length > 1) : []; // otherwise the only group is all domains
      return { folds, nearCopies, choice, held };
    }),
  );
}

/** The groups as folds, or, if there are many, merged into folds of similar size. */
function foldsOf(groups: readonly (readonly string[])[], count: (name: string) => number): string[][] {
  if (groups.length <= MOST_FOLDS) return groups.map((group) => [...group]);
  const sizeOf = (names: readonly string[]): number => names.reduce((sum, name) => sum + count(name), 0);
  const folds: string[][] = Array.from({ length: MOST_FOLDS }, () => []);
  for (const group of groups.toSorted((a, b) => sizeOf(b) - sizeOf(a)))
    folds.reduce((a, b) => (sizeOf(b) < sizeOf(a) ? b : a)).push(...group);
  return folds;
}

function filesOf({ dataset }: Plan, { split }: FeatureSamples, name: string, parts: readonly SplitName[]): string[] {
  const { files } = dataset.domains.find((each) => each.name === name)!;
  return placesOf(split, name, parts).map((place) => files![place]);
}

function logitsOf({ weight, bias }: LinearFit, { x }: LabelledFeatures): number[][] {
  if (x.rows === 0) return [];
  return scope(() => x.toDType(weight.dtype).matmul(weight.t()).add(bias).toArray() as number[][]);
}

/** As many pictures as the distance score of a model is made from (training/model-distance.ts), evenly of all domains. */
const few = ({ x, labels }: LabelledFeatures, most: number): { features: Tensor; labels: number[] } => {
  const places = evenlyChosen([...Array(x.rows).keys()], most);
  return { features: x.take(places), labels: places.map((i) => labels[i]) };
};

const FITTED = 1024;
const COMPARED = 512;

function percentilesOf(inside: readonly Domain[], outside: readonly Domain[], asked: readonly Tensor[]): number[] {
  const share = (count: number): number => Math.ceil(count / inside.length);
  const statistics = fitDistance(
    inside.map((domain) => few(domain, share(FITTED))),
    cat(outside.map((domain) => few(domain, share(COMPARED)).features)),
  );
  if (!statistics) return [];
  const quantiles = statistics.quantiles.toNumbers();
  return asked.flatMap((features) =>
    distancesTo(statistics, features).map(({ score }) => 100 * shareBelow(quantiles, score)),
  );
}

/** The features of some correctly predicted pictures. */
function rightOnes({ x, labels }: Domain, rows: readonly number[][]): Tensor {
  const right = [...rows.keys()].filter((i) => rows[i].indexOf(Math.max(...rows[i])) === labels[i]);
  return x.take(evenlyChosen(right, COMPARED));
}

interface AloneRows {
  readonly domain: Domain;
  readonly probe: readonly number[][];
  readonly neighbours: readonly number[][];
}

const aloneOf = (rows: readonly AloneRows[]): HeldFold["alone"] => ({
  probe: rows.flatMap(({ domain, probe }) => judgedBy(probe, domain)),
  neighbours: rows.flatMap(({ domain, neighbours }) => judgedBy(neighbours, domain)),
});

const temperatureOf = (all: readonly { rows: readonly number[][]; labels: ArrayLike<number> }[]): number =>
  fitTemperature(
    all.flatMap(({ rows }) => rows),
    all.flatMap(({ labels }) => Array.from(labels)),
  );

const judgedBy = (rows: readonly number[][], domain: Domain, temperature = 1): JudgedLogits[] =>
  rows.map((logits, i) => ({
    ...judge(logits, { name: domain.files[i], domain: domain.name, label: domain.labels[i] }, temperature),
    logits,
  }));
