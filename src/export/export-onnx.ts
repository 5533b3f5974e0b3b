/**
 * A model as an ONNX file: batch norms folded, any batch size, labels, preprocessing and licence in its metadata. The input is
 * what the network takes, or the pixels of pictures of the right size.
 */

import { UsageError } from "../errors.js";
import { replaceFile } from "../files/replace-file.js";
import type { Model } from "../model/index.js";
import { exportMetadata } from "./export-metadata.js";
import { OnnxGraph, type Value } from "./onnx-graph.js";
import { onnxParts, type Port } from "./onnx-messages.js";
import { predictionNodes } from "./onnx-prediction.js";

export interface OnnxOptions {
  /**
   * `normalised` (default): float32 [batch, channels, height, width], as `preprocessing` in the metadata says. `pixels`: uint8
   * [batch, height, width, 3], the pixels of pictures of exactly this size.
   */
  input?: "normalised" | "pixels";
  /** The program's version, for the record. */
  version?: string;
}

/** Writes a model as an ONNX file. */
export function exportOnnx(model: Model, path: string, { input = "normalised", version = "" }: OnnxOptions = {}): void {
  const { preprocessing, classes, backbone } = model.about;
  const state = new Map(
    Object.entries(model.network.modules).flatMap(([name, module]) =>
      [...module.stateDict()].map(([own, tensor]) => [`${name}.${own}`, tensor] as const),
    ),
  );
  const graph = new OnnxGraph(state);
  const port: Port =
    input === "pixels"
      ? { name: "pixels", element: "uint8", shape: ["batch", ...pixelShape(model)] }
      : { name: "input", element: "float32", shape: ["batch", ...preprocessing.inputShape] };
  const x = input === "pixels" ? normalised(graph, port.name, model) : port.name;
  const { logits, features } = predictionNodes(graph, x, model);
  graph.rename(logits, "logits");
  graph.rename(features, "features");
  const parts = onnxParts({
    name: backbone,
    about: `${backbone}, ${classes.length} classes, trained on ${model.about.dataset}`,
    version,
    nodes: graph.nodes,
    constants: graph.constants,
    inputs: [port],
    outputs: [
      { name: "logits", element: "float32", shape: ["batch", classes.length] },
      { name: "features", element: "float32", shape: ["batch", model.width] },
    ],
    metadata: exportMetadata(model.about),
  });
  replaceFile(path, (write) => {
    for (const part of parts) write(part);
  });
}

function pixelShape({ path, about: { preprocessing } }: Model): number[] {
  if (preprocessing.kind !== "pictures")
    throw new UsageError(`export of ${path}: the model takes no pictures, so it has no input of pixels`);
  const [channels, height, width] = preprocessing.inputShape;
  return [height, width, channels];
}

/** Bytes with the channels last to what the network takes: (p/255 − mean)/std, channels first. */
function normalised(graph: OnnxGraph, pixels: Value, { about: { preprocessing } }: Model): Value {
  const { mean, std } = preprocessing as { mean: readonly number[]; std: readonly number[] };
  const float = graph.node("Cast", [pixels], { to: 1 });
  const planes = graph.node("Transpose", [float], { perm: [0, 3, 1, 2] });
  const factor = graph.numbers(
    std.map((each) => 1 / (255 * each)),
    [1, 3, 1, 1],
  );
  const term = graph.numbers(
    mean.map((each, i) => -each / std[i]),
    [1, 3, 1, 1],
  );
  return graph.node("Add", [graph.node("Mul", [planes, factor]), term]);
}
