/**
 * Exports a model as an ONNX file. The forward pass is recorded and translated operator by operator, so every network
 * whose operators have a translation can be exported. Batch norms are folded, the batch size is free, and the metadata
 * contains labels, preprocessing and license.
 */

import { UsageError } from "../errors.js";
import { replaceFile } from "../files/replace-file.js";
import type { Model } from "../model/index.js";
import { exportMetadata } from "./export-metadata.js";
import { onnxParts } from "./onnx-messages.js";
import { type TracedPorts, traceModel } from "./trace-model.js";
import { port, translate } from "./translate.js";

export interface OnnxOptions extends TracedPorts {
  /** The version of NUDGE, for the metadata. */
  version?: string;
  /** The name of the input; `input` or `pixels` by default. */
  inputName?: string;
}

/** Writes a model as an ONNX file. */
export function exportOnnx(model: Model, path: string, options: OnnxOptions = {}): void {
  const { classes, backbone, dataset } = model.about;
  checkPorts(model, options);
  const parts = inWords(() => {
    using traced = traceModel(model, options);
    const inputName = options.inputName ?? (options.input === "pixels" ? "pixels" : "input");
    const graph = translate(traced, inputName, parameterNames(model));
    return onnxParts({
      name: backbone,
      about: `${backbone}, ${classes.length} classes, trained on ${dataset}`,
      version: options.version ?? "",
      nodes: graph.nodes,
      constants: graph.constants,
      inputs: [port(graph.input, traced.input)],
      outputs: Object.entries(traced.outputs).map(([name, value]) => port(name, value)),
      metadata: exportMetadata(model.about),
    });
  });
  replaceFile(path, (write) => {
    for (const part of parts) write(part);
  });
}

/** Checks that the model supports the requested inputs and outputs. */
function checkPorts({ path, about, distanceStatistics }: Model, { input, percentile }: TracedPorts): void {
  const { preprocessing, prediction } = about;
  if (input === "pixels" && preprocessing.kind !== "pictures")
    throw new UsageError(`export of ${path}: the model takes no pictures, so it has no input of pixels`);
  if (percentile && !distanceStatistics)
    throw new UsageError(`export of ${path}: the file has no statistics of distance, so it has no percentile`);
  if (prediction.kind === "algorithm" && prediction.id === "mtl" && prediction.hparams.noise !== false)
    throw new UsageError(
      "export to ONNX: MTL's predictions are random (noise=true, as in all public code of it): train it with noise=false, or take --format safetensors",
    );
}

/** The names of the model's parameters and buffers in its file, by handle. */
function parameterNames({ network }: Model): Map<number, string> {
  const named = Object.entries(network.modules).flatMap(([part, module]) =>
    [...module.stateDict()].map(([own, { handle }]) => [handle, `${part}.${own}`] as const),
  );
  return new Map(named);
}

/** An error for a model that cannot be recorded or translated, with advice. */
function inWords<T>(action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    throw new UsageError(`export to ONNX: ${cause.message}; take --format safetensors`, { cause });
  }
}
