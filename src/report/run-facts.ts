/** The settings of a run as text, for the user of its model. */

import { backbones } from "../backbones/index.js";
import { CURRENT } from "../records/record.js";
import { methodOf, type PluginSettings } from "../records/run.js";
import { datasetTitle, paperName } from "../settings/names.js";
import { type TrainSettings, trainDomainsOf } from "../settings/settings.js";

/** A method as papers name it: `ERM-NU`. */
export function methodName(settings: TrainSettings, model = CURRENT): string {
  return paperName(methodOf(settings, model));
}

/** How a run was trained: names and values. */
export function runFacts(
  settings: TrainSettings,
  { model = CURRENT, step }: { model?: string; step: number },
): [string, string][] {
  const { testDomains, holdout, seed, trialSeed } = settings;
  const training = trainDomainsOf(settings);
  return [
    ["data", `${datasetTitle(settings.dataset)}, ${settings.data}`],
    ["trained on", training.join(", ")],
    ["held out", testDomains.join(", ") || "none"],
    ["validation", `${Math.round(100 * holdout)} % of the pictures of each domain, not used for training`],
    [
      "method",
      settings.probe === "exact"
        ? `logistic regression (exact probe)${settings.neighbours ? ", averaged with a vote of the nearest training pictures" : ""}`
        : methodName(settings, model),
    ],
    ...settings.regularizers.map((each): [string, string] => ["penalty", penaltyWords(each)]),
    ["network", networkWords(settings)],
    ...(settings.probe === "exact" ? [] : updateFacts(settings, training.length)),
    ["the model", modelWords(settings, model, step)],
    [
      "seeds",
      `training ${seed}, split ${trialSeed}; ${settings.hparamsSeed ? `hyperparameters ${settings.hparamsSeed}` : "default hyperparameters"}`,
    ],
    ["computed on", `${settings.device}, ${settings.threads} threads, ${settings.precision}`],
    ["run", settings.hash],
  ];
}

function updateFacts(settings: TrainSettings, domains: number): [string, string][] {
  const { hparams, steps, evaluateEvery } = settings;
  return [
    [
      "updates",
      `${steps}, each of ${domains} × ${hparams.batchSize} pictures${settings.probe ? "' features" : hparams.dataAugmentation ? ", augmented" : ""}; evaluated every ${evaluateEvery}`,
    ],
    ["optimizer", `Adam, learning rate ${hparams.lr}, weight decay ${hparams.weightDecay}`],
  ];
}

function modelWords({ probe, refit }: TrainSettings, model: string, step: number): string {
  if (probe === "exact")
    return refit
      ? "fitted to all pictures, after it was evaluated without the validation pictures"
      : "fitted to convergence";
  if (model === CURRENT) return `the weights after step ${step}, where the validation accuracy was highest`;
  return `the average of the weights (${model}) up to step ${step}`;
}

function networkWords({ backbone, pretrained, weightsHash, probe }: TrainSettings): string {
  const title = Object.hasOwn(backbones, backbone) ? backbones[backbone as keyof typeof backbones].title : backbone;
  const from = pretrained ? `from pretrained weights (${weightsHash})` : "from random weights";
  if (probe === "exact") return `${title} ${from}, frozen, with a linear classifier fitted to its features`;
  return probe
    ? `${title} ${from}, frozen, with a trained linear map on its features and a classifier`
    : `${title}, ${from}`;
}

/** What a penalty adds to the loss. Penalties on features have two scalings. */
function penaltyWords({ id, settings: { weight, scaling, warmup } }: PluginSettings): string {
  const norms: Readonly<Record<string, string>> = { "nuclear-norm": "‖F‖_*", "frobenius-norm": "‖F‖_F" };
  const from = typeof warmup === "number" && warmup > 0 ? `, from step ${warmup} on` : "";
  const scale = scaling === "per-sample" ? "/n" : "";
  return Object.hasOwn(norms, id) ? `${id}: ${weight}·${norms[id]}${scale}${from}` : `${id}, weight ${weight}${from}`;
}
