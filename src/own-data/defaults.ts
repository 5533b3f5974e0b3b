/**
 * Settings for pictures of one's own, where none were given. The benchmarks' protocol, 5001 updates of 3×32 pictures, takes
 * ResNet-50 most of a day on two cores; this is what fits a folder's size and a machine instead. It is a layer under what was asked for: whatever is
 * given, in a file or on the command line, is taken as it is, and a named benchmark gets none of this.
 */

import { MissingWeights } from "../backbones/find-weights.js";
import { publishedWeightsNamed } from "../backbones/published-weights.js";
import type { Dataset } from "../data/dataset.js";
import { hasFastBfloat16 } from "../engine/device.js";
import { type Request, readKeys } from "../settings/keys.js";
import { methodOf } from "../settings/method.js";
import { findTrained, type TrainedBackbone } from "./find-trained.js";

export interface OwnDefaults {
  readonly request: Request;
  /** What was chosen, for the person who did not. */
  readonly words: readonly string[];
}

/** Pictures in an update on a CPU: two cores take most of a second for them. */
const CPU_BATCH = 32;
const FEWEST_A_DOMAIN = 4;
/** As the benchmarks have it. */
const GPU_BATCH_A_DOMAIN = 32;

/** Times each picture is seen, about; and the fewest and most updates. */
const LENGTHS = {
  cpu: { epochs: 10, fewest: 200, most: 300, evaluations: 5 },
  gpu: { epochs: 20, fewest: 300, most: 3000, evaluations: 10 },
} as const;

/** The share of pictures that is trained on; the rest is held back for validation. */
const TRAINED = 0.8;

/** The settings to put under a request for one's own pictures. */
export function ownDefaults(
  dataset: Dataset,
  request: Request,
  device: string,
  bfloat16 = hasFastBfloat16(device),
): OwnDefaults {
  const has = (...names: string[]): boolean => names.some((name) => request[name] !== undefined);
  const words: string[] = [];
  const found: Record<string, unknown> = {};
  if (!has("algorithm", "regularizers")) found.algorithm = "ERM-NU";
  Object.assign(found, networkDefaults(request, words, device));
  if (isOn(request.probe)) return { request: found, words };
  if (bfloat16 && !has("precision")) {
    found.precision = "bf16";
    words.push(
      `precision: bfloat16, which ${device} computes several times as fast (--precision float32 for the usual)`,
    );
  }
  const pictures = dataset.domains.reduce((sum, { count }) => sum + count, 0);
  const cpu = device === "cpu";
  const batchSize = cpu
    ? Math.max(FEWEST_A_DOMAIN, Math.floor(CPU_BATCH / dataset.domains.length))
    : GPU_BATCH_A_DOMAIN;
  const { epochs, fewest, most, evaluations } = LENGTHS[cpu ? "cpu" : "gpu"];
  const inAnUpdate = batchSize * dataset.domains.length;
  const wanted = Math.ceil((epochs * TRAINED * pictures) / inAnUpdate);
  const updates = has("steps") ? Number(request.steps) - 1 : Math.min(most, Math.max(fewest, wanted));
  found.steps = updates + 1; // the last one is evaluated too
  // An evaluated picture costs a third of one that is trained on: of a large folder, fewer evaluations.
  const affordable = Math.floor((1.5 * updates * inAnUpdate) / ((1 - TRAINED) * pictures));
  found.evaluateEvery = Math.max(1, Math.ceil(updates / Math.max(1, Math.min(evaluations, affordable))));
  found.evaluateFirst = false;
  found.evaluateTraining = false;
  found.augmentValidation = false;
  if (!has("hparamsSeed")) found.batchSize = batchSize; // a draw has its own
  // The usual warm-up of a hundred steps is a third of these runs, and the best model may come before it ends.
  const { regularizers } = methodOf(readKeys({ ...found, ...request }));
  for (const { id, settings } of regularizers)
    if (Object.hasOwn(settings, "warmup") && !has("warmup")) found[`${id}.warmup`] = 0;
  return { request: Object.fromEntries(Object.entries(found).filter(([name]) => !has(name))), words };
}

/**
 * The network to start from where none was named: one whose trained weights are on this machine. Where there are none, that is
 * an error that a command can answer with an offer to download them; a small network from random weights has to be asked for.
 */
export function networkDefaults(request: Request, words: string[], device = "cpu"): Request {
  if (request.backbone !== undefined) return {};
  if (request.pretrained !== undefined && !isOn(request.pretrained)) {
    if (isOn(request.probe)) return {};
    words.push(
      "network: small-cnn from random weights, as asked; it needs many pictures and does much worse on new domains than a trained network",
    );
    return { backbone: "small-cnn" };
  }
  const trained: TrainedBackbone | undefined = findTrained(request.weights as string | undefined);
  if (trained) {
    words.push(`network: ${trained.backbone}, from the trained weights in ${trained.file}`);
    return { backbone: trained.backbone, weights: trained.file };
  }
  const wanted = publishedWeightsNamed(device === "cpu" ? "mobilenet_v2" : "resnet50")!;
  throw new MissingWeights(
    wanted,
    isOn(request.probe)
      ? undefined
      : "trains a small network from random weights, which needs many pictures and does much worse on new domains",
  );
}

const isOn = (value: unknown): boolean => value === true || value === "true";
