/**
 * A final model: a safetensors file with only the tensors that prediction needs, and one metadata key `nudge` that
 * describes them (model/about.ts). Tensors that only training needs (discriminators, domain weights, a frozen copy) are
 * in the checkpoint.
 */

import { predictsByBatch } from "../algorithms/algorithm.js";
import { restoreValues, saveValues } from "../algorithms/saved-values.js";
import { Backbone } from "../backbones/index.js";
import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { EngineError, UsageError } from "../errors.js";
import {
  type ClassifierKind,
  formatFor,
  METADATA_KEY,
  type ModelAbout,
  type PredictionPath,
  type Preprocessing,
  type StartingWeights,
} from "../model/about.js";
import { Layer, Linear, type Module, ProbeAndNeighbours, withPrecision } from "../nn/index.js";
import { mergedState } from "../nn/lora.js";
import type { SettingScalar } from "../records/run.js";
import { evaluationFraming, scalingOf } from "../settings/preprocessing.js";
import type { Plan } from "../settings/resolve.js";
import { coloursOf, evaluationShape } from "../settings/settings.js";
import type { Learner } from "./learner.js";
import { backboneOptionsOf } from "./make-learner.js";

export interface ModelFileOptions {
  readonly plan: Plan;
  readonly learner: Learner;
  /** Samples to run the network on. */
  readonly sample: Tensor;
  /** `current`, or the id of a follower. */
  readonly model: string;
  /** The last update that is included. */
  readonly step: number;
}

/** Two samples are enough to trace dependencies, and the minimum for batch norm. */
const TRIED = 2;

/**
 * Finds the modules that predictions depend on: each module is filled with NaN in turn, and is needed if NaN appears in
 * the logits. Algorithms therefore need not declare these modules, and cannot declare wrong ones.
 */
export function modulesForPrediction(learner: Learner, x: Tensor): string[] {
  return Object.entries(learner.modules)
    .filter(([, module]) =>
      scope(() => {
        const saved = saveValues([module]);
        try {
          noGrad(() => {
            for (const own of saved.keys()) if (own.dtype.includes("float")) own.fill_(Number.NaN);
          });
          return !Number.isFinite(learner.predict(x).sum().item());
        } finally {
          restoreValues(saved);
        }
      }),
    )
    .map(([name]) => name);
}

/** Writes the current weights of the learner as a model. */
export function writeModel(path: string, { plan, learner, sample, model, step }: ModelFileOptions): void {
  const { settings } = plan;
  const x = sample.narrow(0, 0, Math.min(TRIED, sample.rows));
  const plain = plainPair(learner, x, settings.precision);
  const modules = plain ? Object.values(PLAIN) : modulesForPrediction(learner, x);
  const preprocessing = preprocessingOf(plan);
  const prediction: PredictionPath = plain ? plainPath(plain.classifier) : ownPath(plan);
  const about: ModelAbout = {
    format: formatFor({ preprocessing, prediction }),
    model,
    step,
    backbone: settings.backbone,
    backboneOptions: backboneOptionsOf(plan),
    width: learner.backbone.width,
    classes: settings.classes,
    dataset: settings.dataset,
    domains: settings.domains.filter((name) => !settings.testDomains.includes(name)),
    testDomains: settings.testDomains,
    preprocessing,
    prediction,
    modules,
    startingWeights: settings.weights === null ? null : aboutWeights(settings.weights, settings.weightsHash),
    distance: null,
    calibration: null,
    settings: withoutMachine(settings),
  };
  x.dispose();
  scope(() => {
    const tensors = plain ? plainTensors(plain) : tensorsOf(learner, modules);
    writeWeights(path, tensors, { [METADATA_KEY]: JSON.stringify(about) });
  });
}

function preprocessingOf({ settings, dataset }: Plan): Preprocessing {
  const inputShape = evaluationShape(settings);
  if (!dataset.augmentable) return { kind: "arrays", inputShape };
  const { shortSide } = scalingOf(settings);
  return { kind: "pictures", inputShape, shortSide, ...evaluationFraming(settings), ...coloursOf(settings) };
}

/** The names of the two modules of a plain prediction in a model file. */
const PLAIN = { backbone: "backbone", classifier: "classifier" } as const;

interface PlainPair {
  readonly backbone: Backbone;
  readonly classifier: Layer;
}

/**
 * Returns the backbone and the classifier whose composition gives the same logits as the algorithm, or null if there is
 * no such pair. A model with such a pair does not depend on its algorithm. For ERM++ these are the averages.
 */
export function plainPair(learner: Learner, x: Tensor, precision: Plan["settings"]["precision"]): PlainPair | null {
  const modules = Object.values(learner.modules);
  for (const backbone of modules.filter((module) => module instanceof Backbone))
    for (const classifier of modules.filter((module) => module instanceof Layer))
      if (backbone !== classifier && isPlain(learner, { backbone, classifier }, x, precision))
        return { backbone, classifier };
  return null;
}

function plainPath(classifier: Layer): PredictionPath {
  if (classifier instanceof ProbeAndNeighbours)
    return { kind: "plain", classifier: "neighbours", stored: classifier.neighbours.rows };
  return { kind: "plain", classifier: classifier instanceof Linear ? "linear" : "nonlinear" };
}

const plainTensors = (pair: PlainPair): Map<string, Tensor> =>
  new Map(
    Object.entries(pair).flatMap(([name, module]: [string, Module]) =>
      Array.from(mergedState(module), ([own, tensor]): [string, Tensor] => [`${name}.${own}`, tensor]),
    ),
  );

const tensorsOf = (learner: Learner, modules: readonly string[]): Map<string, Tensor> =>
  new Map([...mergedState(learner.root)].filter(([name]) => modules.includes(name.split(".")[0])));

/** Returns the algorithm's own prediction. */
function ownPath({ settings, algorithm }: Plan): PredictionPath {
  const own = Object.keys(algorithm.hparams);
  const read = Object.entries(settings.hparams).filter(([name]) => own.includes(name) || name === "batchSize");
  const hparams: Record<string, SettingScalar> = Object.fromEntries(read);
  const domains = settings.domains.length - settings.testDomains.length;
  const classifier: ClassifierKind = settings.hparams.nonlinearClassifier ? "nonlinear" : "linear";
  const byBatch = predictsByBatch(algorithm, settings.hparams);
  return { kind: "algorithm", classifier, id: algorithm.id, hparams, domains, ...(byBatch && { byBatch }) };
}

function isPlain(
  learner: Learner,
  { backbone, classifier }: PlainPair,
  x: Tensor,
  precision: Plan["settings"]["precision"],
): boolean {
  learner.root.eval();
  try {
    return scope(() => {
      const logits = noGrad(() => withPrecision(precision, () => classifier.forward(backbone.forward(x))));
      const own = learner.predict(x);
      return `${logits.shape}` === `${own.shape}` && logits.eq(own).sum().item() === logits.numel;
    });
  } catch (error) {
    // These two modules alone do not accept these inputs or features, so the algorithm does more.
    if (error instanceof EngineError || error instanceof UsageError) return false;
    throw error;
  } finally {
    learner.root.train();
  }
}

/**
 * Models are shared, so information about the machine is removed, and the same run gives identical bytes on every
 * machine.
 */
function withoutMachine({
  data,
  root,
  cache,
  weights,
  device,
  threads,
  checkpointEvery,
  request,
  ...rest
}: Plan["settings"]): Record<string, unknown> {
  return rest;
}

/** Reads the metadata of the initial weights' file. If it contains a licence, the model includes it. */
function aboutWeights(path: string, hash: string | null): StartingWeights {
  using file = openWeights(path);
  // The metadata of our own models contains their whole history, and weights may list a thousand classes.
  const { [METADATA_KEY]: _, classes: __, ...metadata } = file.metadata;
  return { hash, licence: metadata.licence ?? metadata.license ?? null, metadata };
}
