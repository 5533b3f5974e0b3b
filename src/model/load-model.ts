/** Opens model files. They can come from anyone, so they are parsed and checked, and never executed. */

import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { usesChannelsLast } from "../backbones/layout.js";
import { openSafetensors } from "../engine/safetensors.js";
import { keep, scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { DataError, UsageError } from "../errors.js";
import type { Place } from "../nn/index.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { readSettings, SETTINGS_FILE } from "../records/run.js";
import type { ModelAbout } from "./about.js";
import { type DistanceStatistics, readDistance } from "./domain-distance.js";
import { Model } from "./model.js";
import { checkSizes, Network } from "./network.js";
import { readAbout } from "./read-about.js";

export interface LoadModelOptions {
  /** The default is `cpu`. */
  device?: string;
}

/** The file of a model: the path itself, or the model in a run folder. */
export function modelFile(path: string): string {
  const there = statSync(path, { throwIfNoEntry: false });
  if (!there) throw new UsageError(`model ${path}: there is no such file`);
  if (/\.onnx$/i.test(path))
    throw new UsageError(`model ${path}: ONNX files are for other programs; use the model it was exported from`);
  if (!there.isDirectory()) return path;
  const inside = join(path, "model.safetensors");
  if (statSync(inside, { throwIfNoEntry: false })?.isFile()) return inside;
  const runs = readdirSync(path).filter((name) => existsSync(join(path, name, "model.safetensors")));
  const run = ["latest", ...runs].find((name) => runs.includes(name) && !name.includes("-without-")) ?? runs[0]; // preferably one without a held-out domain
  throw new DataError(
    run === undefined
      ? `model ${path}: the folder has no model.safetensors; ${withoutModel(path)}`
      : `model ${path}: this is a folder of runs; choose one of them, such as ${join(path, run)}`,
  );
}

/** What to do with a folder that has no model: resume its run, or use another run next to it. */
function withoutModel(path: string): string {
  const settings = join(path, SETTINGS_FILE);
  if (!existsSync(settings)) return "expected a model file or the folder of a run";
  const runs = dirname(realpathSync(path));
  const writtenAt = (name: string): number =>
    statSync(join(runs, name, "model.safetensors"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const [ready] = readdirSync(runs, { withFileTypes: true })
    .filter((each) => each.isDirectory() && !each.name.includes("-without-") && writtenAt(each.name) > 0)
    .sort((a, b) => writtenAt(b.name) - writtenAt(a.name));
  const resume = isOwnDataset(readSettings(settings).dataset)
    ? "run the command that started it again"
    : `use nudge train --resume ${path}`;
  const other = ready ? `, or choose a run that has a model, such as ${join(path, "..", ready.name)}` : "";
  return `the run has not finished: to resume it, ${resume}${other}`;
}

/** The metadata of a model file, read without loading the engine. */
export function readModelAbout(path: string): ModelAbout {
  using file = openSafetensors(modelFile(path));
  return readAbout(file);
}

/**
 * Loads a model from its file or its run folder.
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
    if (device === "cpu") {
      network.keepFolds();
      network.allowPlan(about.preprocessing.inputShape);
    }
    return new Model(place, about, network, keptStatistics(statistics), device);
  } catch (error) {
    network.dispose();
    throw error;
  }
}

/** The value of the run in float32, the precision in which models compute. */
function layoutOf({ backbone, preprocessing: { inputShape } }: ModelAbout, device: string): Place["memoryFormat"] {
  return usesChannelsLast({ backbone, inputShape, device, precision: "float32" }) ? "channels_last" : undefined;
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
