/** A learner as a run's settings describe it: backbone with its starting values, classifier, hyperparameters. */

import { type Backbone, backboneNamed, loadPretrained } from "../backbones/index.js";
import { Random } from "../engine/random.js";
import type { HparamValue } from "../hparams.js";
import { type Layer, Linear, ReLU, Sequential } from "../nn/index.js";
import type { Plan } from "../settings/resolve.js";
import { Learner } from "./learner.js";

/** Hyperparameters that the loop reads, and no algorithm does. */
const OF_THE_LOOP = ["dropout", "dataAugmentation", "classBalanced", "nonlinearClassifier", "freezeBatchNorm"];

export function makeLearner({ settings, algorithm, regularizers }: Plan): Learner {
  const { hparams, seed, device, precision, domains, testDomains, classes } = settings;
  const own = Object.entries(hparams).filter(([name]) => !OF_THE_LOOP.includes(name));
  return new Learner({
    algorithm,
    makeBackbone: () => startingBackbone({ settings, algorithm }),
    makeClassifier: hparams.nonlinearClassifier ? nonlinear : undefined,
    classes: classes.length,
    domains: domains.length - testDomains.length,
    hparams: Object.fromEntries(own) as Record<string, HparamValue>,
    regularizers,
    seed,
    device,
    precision,
  });
}

/** The backbone with the values training starts from: the same ones at every call. */
function startingBackbone({ settings, algorithm }: Pick<Plan, "settings" | "algorithm">): Backbone {
  const { inputShape, hparams, weights, seed } = settings;
  const extra = algorithm.backbone?.extraChannels ?? 0;
  const backbone = backboneNamed(settings.backbone).build({
    inputShape: extra > 0 ? [inputShape[0] + extra, ...inputShape.slice(1)] : inputShape,
    dropout: hparams.dropout as number,
    batchNorm: hparams.freezeBatchNorm ? "frozen" : "trained",
  });
  if (weights !== null) return loadPretrained(backbone, weights);
  return backbone.initialize(new Random(seed, ["initial values", "backbone"]));
}

/** The reference's classifier of three layers. */
function nonlinear(inputs: number, outputs: number): Layer {
  const [half, quarter] = [Math.floor(inputs / 2), Math.floor(inputs / 4)];
  return new Sequential(
    new Linear(inputs, half),
    new ReLU(),
    new Linear(half, quarter),
    new ReLU(),
    new Linear(quarter, outputs),
  );
}
