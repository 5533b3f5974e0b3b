/**
 * A model for use: safetensors with the tensors that prediction needs and no others, and one metadata key `nudge` that says
 * what they are. What training alone needed (discriminators, domain weights, a frozen copy) stays in the checkpoint.
 */

import { restoreValues, saveValues } from "../algorithms/saved-values.js";
import { imageNetMean, imageNetStd } from "../data/augment.js";
import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import type { Plan } from "../settings/resolve.js";
import { METADATA_KEY } from "./checkpoint.js";
import type { Learner } from "./learner.js";

export interface ModelFileOptions {
  readonly plan: Plan;
  readonly learner: Learner;
  /** Names of the modules to write; see `modulesForPrediction`. */
  readonly modules: readonly string[];
  /** `current`, or a follower's id. */
  readonly model: string;
  /** The last update that is in it. */
  readonly step: number;
}

/**
 * The modules that predictions depend on, found by trying: each is filled with NaN in turn, and those are needed whose NaN
 * reaches the logits. So no algorithm has to say it, and none can say it wrongly.
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

/** Writes the learner's present weights as a model. */
export function writeModel(path: string, { plan, learner, modules, model, step }: ModelFileOptions): void {
  const { settings, dataset } = plan;
  const tensors = new Map([...learner.stateDict()].filter(([name]) => modules.includes(name.split(".")[0])));
  const about = {
    format: 1,
    model,
    step,
    backbone: settings.backbone,
    width: learner.backbone.width,
    classes: settings.classes,
    preprocessing: {
      inputShape: settings.inputShape,
      resize: dataset.kind === "pictures" ? "to exactly this size, bilinear with antialias" : null,
      mean: dataset.augmentable ? Array.from(imageNetMean, sixDigits) : null,
      std: dataset.augmentable ? Array.from(imageNetStd, sixDigits) : null,
    },
    modules,
    settings: withoutMachine(settings),
    startingWeights:
      settings.weights === null ? null : { hash: settings.weightsHash, ...aboutWeights(settings.weights) },
  };
  writeWeights(path, tensors, { [METADATA_KEY]: JSON.stringify(about) });
}

/** A model is passed on: where it was trained is nobody's business, and the same run gives the same bytes anywhere. */
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
}: Plan["settings"]): object {
  return rest;
}

const sixDigits = (value: number): number => Number(value.toPrecision(6));

/** What the file of starting weights says of itself; its licence goes with the model, where it says one. */
function aboutWeights(path: string): { licence: string | null; metadata: Readonly<Record<string, string>> } {
  using file = openWeights(path);
  const { [METADATA_KEY]: _, ...metadata } = file.metadata; // one of our models has its whole history there
  return { licence: metadata.licence ?? metadata.license ?? null, metadata };
}
