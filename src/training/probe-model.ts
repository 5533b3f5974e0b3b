/**
 * Completes the model of a probe. Training only updates the linear map and the layers after it. The final file also
 * contains the frozen network, so that it accepts pictures like any other model.
 */

import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { type CalibrationFacts, METADATA_KEY, type ModelAbout } from "../model/about.js";
import type { Neighbours } from "../probe/neighbours.js";
import type { Plan } from "../settings/resolve.js";
import { bodyOf } from "./make-learner.js";

/** Matches names such as `backbone.map.weight`, where `backbone` is a module with a linear map on a frozen network. */
const MAP = /^([^.]+)\.map\.weight$/;

/**
 * Adds the tensors of the frozen network to a model file: for every linear map in it, or as the backbone of an exact
 * probe.
 */
export function addBody(path: string, plan: Plan): void {
  const { metadata } = openMetadata(path);
  using body = bodyOf(plan);
  scope(() => {
    const trained = readWeights(path);
    if (plan.settings.probe === "exact") {
      const about = JSON.parse(metadata[METADATA_KEY]) as ModelAbout;
      const below = [...body.stateDict()].map(([own, each]) => [`backbone.${own}`, each] as const);
      const whole: ModelAbout = { ...about, modules: [...new Set(["backbone", ...about.modules])] };
      writeWeights(path, new Map([...below, ...trained]), { ...metadata, [METADATA_KEY]: JSON.stringify(whole) });
      return;
    }
    const tensors = new Map(
      [...trained].flatMap(([name, tensor]) => {
        const module = MAP.exec(name)?.[1];
        const below = module === undefined ? [] : [...body.stateDict()];
        return [...below.map(([own, each]) => [`${module}.body.${own}`, each] as const), [name, tensor] as const];
      }),
    );
    writeWeights(path, tensors, metadata);
  });
}

/** Replaces the classifier in a model file, with the pictures that it stores, if any. */
export function replaceHead(
  path: string,
  { weight, bias }: { weight: Tensor; bias: Tensor },
  neighbours?: Neighbours,
): void {
  const { metadata } = openMetadata(path);
  scope(() => {
    const like = (tensor: Tensor): Tensor => tensor.to({ device: "cpu", dtype: "float32" }).contiguous();
    const head = new Map([
      ["classifier.weight", like(weight)],
      ["classifier.bias", like(bias)],
      ...(neighbours
        ? ([
            ["classifier.neighbours", like(neighbours.rows)],
            ["classifier.labels", like(neighbours.labels)],
          ] as const)
        : []),
    ]);
    const about = JSON.parse(metadata[METADATA_KEY]) as ModelAbout;
    const { prediction } = about;
    const stored = neighbours &&
      prediction.kind === "plain" && { prediction: { ...prediction, stored: neighbours.rows.rows } };
    writeWeights(path, new Map([...readWeights(path)].map(([name, own]) => [name, head.get(name) ?? own])), {
      ...metadata,
      [METADATA_KEY]: JSON.stringify({ ...about, ...stored }),
    });
  });
}

/** Replaces the calibration in a model file. */
export function replaceCalibration(path: string, calibration: CalibrationFacts): void {
  const { metadata } = openMetadata(path);
  const about = JSON.parse(metadata[METADATA_KEY]) as ModelAbout;
  scope(() =>
    writeWeights(path, readWeights(path), { ...metadata, [METADATA_KEY]: JSON.stringify({ ...about, calibration }) }),
  );
}

function openMetadata(path: string): { metadata: Readonly<Record<string, string>> } {
  using file = openWeights(path);
  return { metadata: file.metadata };
}
