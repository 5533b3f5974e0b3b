/** Opening a model file. It may come from anyone: it is read, checked and never run. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { likesChannelsLast } from "../backbones/layout.js";
import { openSafetensors } from "../engine/safetensors.js";
import { keep, scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { DataError, UsageError } from "../errors.js";
import type { Place } from "../nn/index.js";
import type { ModelAbout } from "./about.js";
import { type DistanceStatistics, readDistance } from "./domain-distance.js";
import { Model } from "./model.js";
import { checkSizes, Network } from "./network.js";
import { readAbout } from "./read-about.js";

export interface LoadModelOptions {
  /** `cpu` unless told. */
  device?: string;
}

/** The file of a model: itself, or the one in a run's folder. */
export function modelFile(path: string): string {
  const there = statSync(path, { throwIfNoEntry: false });
  if (!there) throw new UsageError(`model ${path}: there is no such file`);
  if (/\.onnx$/i.test(path))
    throw new UsageError(`model ${path}: ONNX is for other programs; give the model it was exported from`);
  if (!there.isDirectory()) return path;
  const inside = join(path, "model.safetensors");
  if (statSync(inside, { throwIfNoEntry: false })?.isFile()) return inside;
  const runs = readdirSync(path).filter((name) => existsSync(join(path, name, "model.safetensors")));
  const run = ["latest", ...runs].find((name) => runs.includes(name) && !name.includes("-without-")) ?? runs[0]; // rather one that held no domain out
  throw new DataError(
    run === undefined
      ? `model ${path}: the folder has no model.safetensors: is it of a run that has ended?`
      : `model ${path}: it is a folder of runs; name one of them, such as ${join(path, run)}`,
  );
}

/** What a model file says of itself, without loading the engine. */
export function readModelAbout(path: string): ModelAbout {
  using file = openSafetensors(modelFile(path));
  return readAbout(file);
}

/**
 * Loads a model for use, from its file or its run's folder.
 *
 * @example using model = await loadModel("runs/…/model.safetensors"); await model.predict("photo.jpg");
 */
export async function loadModel(path: string, { device = "cpu" }: LoadModelOptions = {}): Promise<Model> {
  const place = modelFile(path);
  const about = readChecked(place);
  const network = new Network(place, about);
  try {
    const statistics = scope(() => {
      const tensors = readWeights(place);
      network.load(tensors);
      network.check(about);
      if (!about.distance) return null;
      const expected = { domains: about.domains.length, width: about.width * network.backbones };
      return readDistance(place, tensors, expected);
    });
    network.to({ device, memoryFormat: layoutOf(about, device) });
    return new Model(place, about, network, keptStatistics(statistics), device);
  } catch (error) {
    network.dispose();
    throw error;
  }
}

/** As its run had it in float32, which is what models compute in. */
function layoutOf({ backbone, preprocessing: { inputShape } }: ModelAbout, device: string): Place["memoryFormat"] {
  return likesChannelsLast({ backbone, inputShape, device, precision: "float32" }) ? "channels_last" : undefined;
}

function readChecked(path: string): ModelAbout {
  using file = openSafetensors(path);
  const about = readAbout(file);
  checkSizes(path, about, file.tensors);
  return about;
}

function keptStatistics(statistics: DistanceStatistics | null): DistanceStatistics | null {
  for (const tensor of Object.values(statistics ?? {})) keep(tensor);
  return statistics;
}
