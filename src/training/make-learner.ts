/** Creates a learner from a run's settings: initialized backbone, classifier, hyperparameters. */

import { addLora } from "../backbones/add-lora.js";
import { freezeBackbone } from "../backbones/depth.js";
import { type Backbone, backboneNamed, loadPretrained } from "../backbones/index.js";
import { usesChannelsLast } from "../backbones/layout.js";
import { Random } from "../engine/random.js";
import type { HparamValue } from "../hparams.js";
import type { StoredBackboneOptions } from "../model/about.js";
import { makeClassifier } from "../model/classifier.js";
import { storedNeighbours } from "../nn/probe-and-neighbours.js";
import { optimizerNamed, rateFactor, scheduleNamed, type ValidationLoss } from "../optim/index.js";
import { ProbedBackbone } from "../probe/probed-backbone.js";
import type { Plan } from "../settings/resolve.js";
import { evaluationShape, trainDomainsOf } from "../settings/settings.js";
import { Learner } from "./learner.js";
import type { Optimization } from "./optimization.js";

/** Hyperparameters that the training loop reads and the algorithms do not. */
const OF_THE_LOOP = ["dropout", "dataAugmentation", "nonlinearClassifier", "freezeBatchNorm"];

/**
 * Creates a learner. `makeBackbone` is for runs that do not train the whole backbone, such as probes. `optimization`
 * overrides the settings. A schedule that follows validation reads `losses`, to which the run adds.
 */
export function makeLearner(
  { settings, split, algorithm, regularizers }: Plan,
  makeBackbone?: () => Backbone,
  optimization: Optimization = {},
  losses: readonly ValidationLoss[] = [],
): Learner {
  const { hparams, seed, device, precision, domains, testDomains, classes } = settings;
  const own = Object.entries(hparams).filter(([name]) => !OF_THE_LOOP.includes(name));
  return new Learner({
    algorithm,
    makeBackbone: makeBackbone ?? (() => startingBackbone({ settings, algorithm })),
    makeClassifier: (inputs, outputs) =>
      settings.neighbours
        ? makeClassifier("neighbours", inputs, outputs, storedNeighbours(trainingCount({ settings, split }), inputs))
        : makeClassifier(hparams.nonlinearClassifier ? "nonlinear" : "linear", inputs, outputs),
    classes: classes.length,
    domains: domains.length - testDomains.length,
    hparams: Object.fromEntries(own) as Record<string, HparamValue>,
    regularizers,
    seed,
    device,
    channelsLast: usesChannelsLast(settings),
    precision,
    optimization: { ...optimizationOf(settings, losses), ...optimization },
  });
}

/** The number of training pictures. */
const trainingCount = ({ settings, split }: Pick<Plan, "settings" | "split">): number =>
  trainDomainsOf(settings).reduce((sum, name) => sum + (split.get(name)?.in.length ?? 0), 0);

/** Returns the optimization options from the run's settings. */
function optimizationOf(settings: Plan["settings"], losses: readonly ValidationLoss[]): Optimization {
  const { optimizer, schedule, warmupSteps = 0, steps, clipNorm, headLr, layerDecay, headFirst } = settings;
  const rate =
    (schedule || warmupSteps > 0) &&
    rateFactor(scheduleNamed(schedule?.id ?? "constant"), {
      ...{ steps, warmupSteps, options: schedule?.settings ?? {}, losses },
    });
  return {
    ...(optimizer && { optimizer: optimizerNamed(optimizer.id), options: optimizer.settings }),
    ...(rate && { rate }),
    clipNorm,
    headLr,
    layerDecay,
    ...(typeof headFirst === "number" && { headSteps: headFirst }),
  };
}

/** Returns the options for building the run's network, including additional channels for the algorithm. */
export function backboneOptionsOf({
  settings,
  algorithm,
}: Pick<Plan, "settings" | "algorithm">): StoredBackboneOptions {
  const { hparams, probe, variant } = settings;
  const inputShape = evaluationShape(settings); // the network also accepts other sizes
  const extra = algorithm.backbone?.extraChannels ?? 0;
  return {
    inputShape: extra > 0 ? [inputShape[0] + extra, ...inputShape.slice(1)] : inputShape,
    dropout: hparams.dropout as number,
    batchNorm: hparams.freezeBatchNorm ? "frozen" : "trained",
    ...(variant && { variant }),
    ...(probe === true && { probe }),
  };
}

/** Returns the backbone with the initial values for training, which are the same at every call. */
function startingBackbone(plan: Pick<Plan, "settings" | "algorithm">): Backbone {
  const body = withLora(plan.settings, bodyOf(plan));
  const { probe, freeze } = plan.settings;
  if (probe === true) return new ProbedBackbone(body);
  return freeze === undefined ? body : freezeBackbone(body, freeze);
}

/** Adds LoRA to the backbone if the settings contain it. */
function withLora({ lora: rank, loraAlpha, loraTargets, seed }: Plan["settings"], body: Backbone): Backbone {
  if (rank === undefined) return body;
  const random = new Random(seed, ["initial values", "backbone"]);
  return addLora(body, { rank, alpha: loraAlpha ?? rank, targets: loraTargets ?? [] }, random);
}

/** Returns the network without the additional layers of a probe. */
export function bodyOf(plan: Pick<Plan, "settings" | "algorithm">): Backbone {
  const { backbone: id, weights, seed, stochasticDepth } = plan.settings;
  const backbone = backboneNamed(id).build({ ...backboneOptionsOf(plan), stochasticDepth });
  if (weights !== null) return loadPretrained(backbone, weights);
  return backbone.initialize(new Random(seed, ["initial values", "backbone"]));
}
