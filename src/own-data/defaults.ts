/**
 * Default settings for own pictures. The protocol of the benchmarks, 5001 updates of 3×32 pictures, takes ResNet-50
 * most of a day on two cores; these settings fit the size of the folder and the machine instead. They have lower
 * precedence than everything that is given in a file or on the command line, and they do not apply to named benchmarks.
 */

import { resolve } from "node:path";
import { MissingWeights } from "../backbones/find-weights.js";
import { framingOf, publishedWeightsNamed } from "../backbones/published-weights.js";
import { TRANSFORMERS } from "../backbones/transformer-layouts.js";
import type { Dataset } from "../data/dataset.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { lookAt } from "../data/inspect-files.js";
import { type ProbeKind, type Request, readKeys } from "../declared-settings/keys.js";
import { hasFastBfloat16 } from "../engine/device.js";
import { methodOf } from "../settings/method.js";
import { findTrained, type TrainedBackbone } from "./find-trained.js";

export interface OwnDefaults {
  readonly request: Request;
  /** The automatic choices, as text for the user. */
  readonly words: readonly string[];
}

/**
 * The height and width at which pictures are evaluated if they have enough pixels: networks trained on crops of 224 do
 * better on larger pictures (Touvron et al., Fixing the train-test resolution discrepancy, NeurIPS 2019,
 * https://arxiv.org/abs/1906.06423), but not on enlarged ones. The mean accuracy of the exact probe over held-out
 * domains: Office-31, with 300 pixels and more, 83.3 % at 288 and 81.8 at 224; PACS, with 227 pixels, 62.0 and 63.2.
 */
const LARGER = 288;
/** The number of pictures whose sizes are sampled. */
const SIZED = 200;

/** The number of pictures per update on a CPU: two cores need most of a second for them. */
const CPU_BATCH = 32;
const FEWEST_A_DOMAIN = 4;
/** The same as for the benchmarks. */
const GPU_BATCH_A_DOMAIN = 32;

/** The approximate number of epochs, and the minimum and maximum number of updates. */
const LENGTHS = {
  cpu: { epochs: 10, fewest: 200, most: 300, evaluations: 5 },
  gpu: { epochs: 20, fewest: 300, most: 3000, evaluations: 10 },
} as const;

/** The share of pictures used for training; the rest is held out for validation. */
const TRAINED = 0.8;

/** The default settings for a request on own pictures. */
export function ownDefaults(
  dataset: Dataset,
  request: Request,
  device: string,
  bfloat16 = hasFastBfloat16(device),
): OwnDefaults {
  const has = (...names: string[]): boolean => names.some((name) => request[name] !== undefined);
  const words: string[] = [];
  const found: Record<string, unknown> = {};
  const probe = probeOf(request);
  if (!has("algorithm", "regularizers") && probe !== "exact") found.algorithm = "ERM-NU";
  Object.assign(found, networkDefaults(request, words, device));
  if (probe === "exact") {
    found.refit = true;
    const size = evaluationSizeFor(dataset, { ...found, ...request });
    if (size !== undefined) found.evaluationSize = size;
  }
  if (probe) return { request: without(found, has), words };
  if (bfloat16 && !has("precision")) {
    found.precision = "bf16";
    words.push(
      `precision: bfloat16, which is several times as fast on ${device} (use --precision float32 to change this)`,
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
  found.steps = updates + 1; // so that the last update is evaluated too
  // Evaluating a picture costs a third of training on it, so a large folder is evaluated less often.
  const affordable = Math.floor((1.5 * updates * inAnUpdate) / ((1 - TRAINED) * pictures));
  found.evaluateEvery = Math.max(1, Math.ceil(updates / Math.max(1, Math.min(evaluations, affordable))));
  found.evaluateFirst = false;
  found.evaluateTraining = false;
  found.augmentValidation = false;
  if (!has("hparamsSeed")) found.batchSize = batchSize; // a random draw has its own batch size
  // The default warm-up of a hundred steps is a third of these runs, and the best model can come before it ends.
  const { regularizers } = methodOf(readKeys({ ...found, ...request }));
  for (const { id, settings } of regularizers)
    if (Object.hasOwn(settings, "warmup") && !has("warmup")) found[`${id}.warmup`] = 0;
  return { request: without(found, has), words };
}

/** The requested kind of probe, if any. */
export const probeOf = (request: Request): ProbeKind | false => readKeys({ probe: request.probe }).probe ?? false;

/**
 * The picture size for evaluation if it differs from training: the larger one if half of the pictures have enough
 * pixels.
 */
export function evaluationSizeFor(dataset: Dataset, { size, backbone, weights }: Request): number | undefined {
  if (dataset.kind !== "pictures" || size !== undefined) return undefined;
  const published = [weights, backbone].flatMap((name) => publishedWeightsNamed(String(name)) ?? [])[0];
  if (published && framingOf(published).size !== 224) return undefined;
  const { root, domains } = dataset;
  const files = domains.flatMap((domain) => evenlyChosen(domain.files, Math.ceil(SIZED / domains.length)));
  const sides = files.flatMap((file) => {
    const { header } = lookAt(resolve(root, file), { domain: 0, label: 0, file });
    return header ? [Math.min(header.width, header.height)] : [];
  });
  const median = sides.sort((a, b) => a - b)[Math.floor(sides.length / 2)] ?? 0;
  const { patch = 1 } = TRANSFORMERS[String(backbone) as keyof typeof TRANSFORMERS] ?? {};
  return median >= LARGER ? LARGER - (LARGER % patch) : undefined;
}

const without = (found: Readonly<Record<string, unknown>>, has: (name: string) => boolean): Request =>
  Object.fromEntries(Object.entries(found).filter(([name]) => !has(name)));

/**
 * The network to start from if none was named: one whose pretrained weights are on this machine. If there are none,
 * this throws an error that a command can answer with an offer to download them; a small network with random weights
 * must be requested explicitly.
 */
export function networkDefaults(request: Request, words: string[], device = "cpu"): Request {
  if (request.backbone !== undefined) return {};
  if (request.pretrained !== undefined && !isOn(request.pretrained)) {
    if (probeOf(request)) return {};
    words.push(
      "network: small-cnn from random weights, as requested; it needs many pictures and is much less accurate on new domains than a pretrained network",
    );
    return { backbone: "small-cnn" };
  }
  const trained: TrainedBackbone | undefined = findTrained(request.weights as string | undefined);
  if (trained) {
    words.push(`network: ${trained.backbone}, from the pretrained weights in ${trained.file}`);
    return { backbone: trained.backbone, weights: trained.file };
  }
  const wanted = publishedWeightsNamed(device === "cpu" ? "mobilenet_v2" : "resnet50")!;
  throw new MissingWeights(wanted, {
    isChoice: true,
    ...(!probeOf(request) && {
      untrained:
        "trains a small network from random weights, which needs many pictures and is much less accurate on new domains",
    }),
  });
}

const isOn = (value: unknown): boolean => value === true || value === "true";
