/**
 * The exact probe in a run: logistic regression on the features of the training domains, used as the run's classifier.
 * Either it is the whole training (`probe=exact`), or training starts from it (`headFirst=true`, for any algorithm
 * whose classifier is one linear layer). With a good initial classifier, updates do not distort the features to
 * compensate for a random one (Kumar et al., Fine-Tuning can Distort Pretrained Features and Underperform
 * Out-of-Distribution, ICLR 2022, https://arxiv.org/abs/2202.10054).
 */

import type { Dataset } from "../data/dataset.js";
import type { Split, SplitName } from "../data/split.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { StoppedError, UsageError } from "../errors.js";
import { type ChosenStrength, chooseStrength, fitProbe, type LabelledFeatures } from "../probe/choose-strength.js";
import type { ExtractOptions } from "../probe/extract-features.js";
import type { LinearFit } from "../probe/logistic-regression.js";
import { nearCopyGroups } from "../probe/near-copies.js";
import { type Neighbours, neighboursOf } from "../probe/neighbours.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import type { Learner } from "./learner.js";
import { openFeatures } from "./samples.js";

/** A dataset of features and its split. */
export interface FeatureSamples {
  readonly dataset: Dataset;
  readonly split: Split;
}

export interface SolvedProbe {
  readonly fit: LinearFit;
  /** How C was chosen; absent if it was specified. */
  readonly choice?: ChosenStrength;
}

/** All parts of a split. */
export const ALL_PARTS: readonly SplitName[] = ["in", "out", "uda"];

/** The places of the pictures of some parts of a domain, in the order of their features. */
export const placesOf = (split: Split, name: string, parts: readonly SplitName[]): number[] =>
  parts.flatMap((part) => [...split.get(name)![part]]).sort((a, b) => a - b);

/** Returns the features and labels of some parts of a domain, in the current scope. */
export function featuresOf(
  { dataset, split }: FeatureSamples,
  name: string,
  parts: readonly SplitName[],
  device: string,
): LabelledFeatures {
  const domain = dataset.domains.find((each) => each.name === name)!;
  const places = placesOf(split, name, parts);
  const [width] = dataset.inputShape;
  const rows = new Float32Array(places.length * width);
  for (const [i, place] of places.entries()) rows.set(domain.read!(place) as Float32Array, i * width);
  const x = tensor(rows, { shape: [places.length, width], device });
  return { x, labels: places.map((place) => domain.labels[place]) };
}

/**
 * Fits the probe of a run to some parts of its training domains. The tensors of the fit belong to the current scope.
 */
export function solveProbe(samples: FeatureSamples, { settings }: Plan, parts: readonly SplitName[]): SolvedProbe {
  const { domains, testDomains, classes, hparams, device, probeC = "auto" } = settings;
  const options = { classes: classes.length, balanced: hparams.classBalanced === true };
  const names = domains.filter((name) => !testDomains.includes(name));
  return noGrad(() =>
    scope(() => {
      const training = names.map((name) => featuresOf(samples, name, parts, device)).filter(({ x }) => x.rows > 0);
      const choice = probeC === "auto" ? chooseStrength(groupsOf(training), options) : undefined;
      const [fit] = fitProbe(training, [choice?.c ?? (probeC as number)], options);
      return { fit, choice };
    }),
  );
}

/** The stored pictures of a run's classifier, from some parts of its training domains. They belong to the current scope. */
export function solveNeighbours(samples: FeatureSamples, { settings }: Plan, parts: readonly SplitName[]): Neighbours {
  const { classes, device } = settings;
  return scope(() => {
    const training = trainDomainsOf(settings).map((name) => featuresOf(samples, name, parts, device));
    return neighboursOf(
      training.filter(({ x }) => x.rows > 0),
      classes.length,
    );
  });
}

/** Copies the stored pictures into the learner's classifier. */
export function setNeighbours(learner: Learner, { rows, labels }: Neighbours): void {
  const state = learner.stateDict();
  noGrad(() => {
    state.get("classifier.neighbours")!.copy_(rows);
    state.get("classifier.labels")!.copy_(labels);
  });
}

/** Groups domains that are near-copies of each other. */
export const groupsOf = (domains: readonly LabelledFeatures[]): LabelledFeatures[][] =>
  nearCopyGroups(domains.map(({ x }) => x)).map((group) => group.map((at) => domains[at]));

/** Copies a fit into the learner's classifier. */
export function setClassifier(
  learner: Learner,
  { weight, bias }: Pick<LinearFit, "weight" | "bias">,
  title: string,
): void {
  const state = learner.stateDict();
  const own = { weight: state.get("classifier.weight"), bias: state.get("classifier.bias") };
  const fits = (a: Tensor | undefined, b: Tensor): a is Tensor => a !== undefined && `${a.shape}` === `${b.shape}`;
  if (!fits(own.weight, weight) || !fits(own.bias, bias))
    throw new UsageError(
      `headFirst: the classifier of ${title} is not a single linear layer on the features, as the exact probe is; remove headFirst=true`,
    );
  const { weight: w, bias: b } = own as { weight: Tensor; bias: Tensor };
  noGrad(() => {
    w.copy_(weight);
    b.copy_(bias);
  });
}

/** Initializes a run's classifier with the exact probe of its training pictures. */
export async function startFromProbe(plan: Plan, learner: Learner, options: ExtractOptions): Promise<void> {
  using features = await openFeatures(plan, options);
  if (features === null) throw new StoppedError("asked to stop");
  scope(() => {
    const { fit, choice } = solveProbe(features, plan, ["in"]);
    setClassifier(learner, fit, plan.algorithm.title);
    const how = choice ? `chosen on the training domains` : "as given";
    options.say?.(`the classifier starts as the exact probe: C = ${fit.c}, ${how}; ${fit.iterations} iterations`);
  });
}
