/**
 * The settings of the runs of a recipe, and how long they can be: the exact probe, and fine-tuned networks that start
 * from it, with weight averaging and the penalty.
 */

import type { Dataset } from "../data/dataset.js";
import { countOf } from "../data/show-name.js";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { evaluationSizeFor, ownDefaults } from "./defaults.js";
import { estimateRun, roughly } from "./estimate.js";

export const recipes = ["auto", "probe", "finetune"] as const;
export type RecipeName = (typeof recipes)[number];

export interface RecipeRequests {
  readonly probe: Request;
  readonly finetune: Request;
  readonly words: readonly string[];
}

/**
 * The learning rate of MobileNetV2: twice the usual one, because the average of the weights tolerates it. On PACS, each domain held out, after 2,000 updates on
 * a GPU, the average has at 5e-5 and at 1e-4: sketches 76.6 and 79.1 %, cartoons 75.0 and 78.1. After 300 updates of 30 pictures, as on a CPU: sketches
 * 64.5 and 72.0, cartoons 68.0 and 71.5.
 */
const MOBILENET_RATE = 1e-4;

/** Settings that name a method: if one is given, the user has chosen the recipe. */
const METHODS = ["algorithm", "regularizers", "averaging", "probe", "hparamsSeed"] as const;

/** Whether a request leaves the choice of the recipe open. */
export const leavesRecipeOpen = (asked: Request): boolean =>
  METHODS.every((name) => asked[name] === undefined) && String(asked.pretrained ?? true) === "true";

/** The settings of both kinds of runs, before C, steps and held-out domains are known. */
export function recipeRequests(dataset: Dataset, asked: Request, device: string): RecipeRequests {
  const { request, words } = ownDefaults(dataset, asked, device);
  const settled: Request = { ...request, ...asked };
  const size = evaluationSizeFor(dataset, settled);
  const shared: Request = { device, ...(size !== undefined && { evaluationSize: size }) };
  const { backbone, weights, precision } = request;
  const network = { ...(backbone !== undefined && { backbone }), ...(weights !== undefined && { weights }) };
  const { steps: _, evaluateEvery: __, ...tuned } = request;
  const { steps: ___, batchSize: ____, ...toProbe } = asked;
  return {
    probe: { ...shared, ...network, probe: "exact", neighbours: true, refit: true, ...toProbe },
    finetune: {
      ...shared,
      ...tuned,
      ...(precision !== undefined && { precision }),
      ...{ averaging: ["wise-ft"], headFirst: true },
      ...(settled.backbone === "mobilenet_v2" && { lr: MOBILENET_RATE }),
      ...asked,
    },
    words,
  };
}

/** `10min`, `90s`, `1.5h` in seconds. */
export function readBudget(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(s|sec|min|m|h)$/.exec(text.trim()) ?? [];
  const seconds = Number(amount) * { s: 1, sec: 1, m: 60, min: 60, h: 3600 }[unit ?? "s"]!;
  if (!(seconds > 0)) throw new UsageError(`--budget: expected a time such as 10min, 90s or 1.5h, got "${text}"`);
  return seconds;
}

/** The time budget of the whole command on a CPU. On a GPU, the number of epochs determines the time. */
export const CPU_BUDGET = 20 * 60;

/** The minimum number of updates: fewer change the network too little to be useful. */
const FEWEST = 60;
/**
 * The approximate number of epochs, and the maximum number of updates. On a GPU, 2,000 updates instead of 1,000 raised the average of the weights on PACS' held-out
 * sketches from 72.7 to 76.6 % and on cartoons from 73.8 to 75.0.
 */
const LENGTHS = { cpu: { epochs: 10, most: 300 }, gpu: { epochs: 40, most: 3000 } } as const;
/** The maximum number of pictures of a held-out domain on which candidates are compared, on a CPU. */
export const CPU_JUDGED = 600;

export interface Length {
  /** The number of updates of one fine-tuning run; 0 if there is no time for any. */
  readonly steps: number;
  /** The measured total time in seconds; null if it could not be measured. */
  readonly seconds: number | null;
  /** Why there is no fine-tuning, as text, if there is none. */
  readonly skipped?: string;
}

/** The number of updates of a fine-tuning run, measured with `plan`, given the seconds that remain for all `runs`. */
export function lengthOf(
  plan: Plan,
  { runs, left, asked, judged }: { runs: number; left: number; asked?: number; judged: number },
): Length {
  const { device, hparams, evaluationSize = 224, inputShape } = plan.settings;
  const training = trainDomainsOf(plan.settings);
  const pictures = training.reduce((sum, name) => sum + (plan.split.get(name)?.in.length ?? 0), 0);
  const { epochs, most } = LENGTHS[device === "cpu" ? "cpu" : "gpu"];
  const wanted = Math.ceil((epochs * pictures) / ((hparams.batchSize as number) * training.length));
  const time = estimateRun(plan);
  if (time === null) return { steps: asked ?? Math.max(FEWEST, Math.min(most, wanted)), seconds: null };
  // The comparison: the trained weights and the average once each, four coefficients, and the distance score on about
  // 1,500 pictures.
  const larger = (evaluationSize / inputShape[1]) ** 2;
  const validation = training.reduce((sum, name) => sum + (plan.split.get(name)?.out.length ?? 0), 0);
  const rest = larger * time.prediction * (5 * judged + 2 * validation + Math.min(1536, pictures));
  const affordable = Math.floor((left / runs - rest) / time.update);
  const steps = asked ?? Math.min(most, Math.max(100, wanted), affordable);
  if (asked === undefined && steps < FEWEST) return { steps: 0, seconds: runs * (FEWEST * time.update + rest) };
  return { steps, seconds: runs * (steps * time.update + rest) };
}

/** The same as text. */
export const lengthWords = ({ steps, seconds }: Length, runs: number, pictures: number): string =>
  `fine-tuning: ${countOf(runs, "run")} of ${steps} updates of ${pictures} pictures${seconds === null ? "" : `, about ${roughly(seconds)}, as measured just now`}`;
