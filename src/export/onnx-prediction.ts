/**
 * From inputs to logits and features as ONNX nodes: the plain way, and those of the algorithms that predict in another. What
 * MTL does by default is random, and is refused.
 */

import { Backbone } from "../backbones/index.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import type { Model } from "../model/index.js";
import { Layer, type Module } from "../nn/index.js";
import { backboneNodes } from "./onnx-backbones.js";
import type { OnnxGraph, Value } from "./onnx-graph.js";
import { sequential } from "./onnx-layers.js";

export interface PredictedValues {
  readonly logits: Value;
  readonly features: Value;
}

/** The nodes of a model's prediction. */
export function predictionNodes(graph: OnnxGraph, x: Value, model: Model): PredictedValues {
  const { prediction } = model.about;
  const { modules } = model.network;
  const backbone = (input: Value, name = "backbone"): Value => backboneNodes(graph, input, backboneIn(modules, name));
  const classified = (features: Value): Value => layerNodes(graph, features, modules.classifier, "classifier");
  if (prediction.kind === "plain" || (!OWN_WAYS.includes(prediction.id) && isPlain(model))) {
    const features = backbone(x);
    return { logits: classified(features), features };
  }
  switch (prediction.id) {
    case "mdsdi": {
      const features = graph.node("Concat", [backbone(x), backbone(x, "specific")], { axis: 1 });
      return { logits: classified(features), features };
    }
    case "mtl": {
      if (prediction.hparams.noise !== false)
        throw new UsageError(
          "export to ONNX: MTL's predictions are random (noise=true, as in all public code of it): train it with noise=false, or take --format safetensors",
        );
      const features = backbone(x);
      const mean = graph.node("ReduceMean", [features, graph.sizes([0])], { keepdims: 1 });
      const beside = graph.node("Expand", [mean, graph.node("Shape", [features])]);
      return { logits: classified(graph.node("Concat", [features, beside], { axis: 1 })), features };
    }
    case "arm": {
      const maps = layerNodes(graph, x, modules.context, "ARM's context network");
      const size = Number(prediction.hparams.batchSize ?? 32);
      const features = backbone(graph.node("Concat", [x, groupMeans(graph, maps, size)], { axis: 1 }));
      return { logits: classified(features), features };
    }
    default:
      throw new UsageError(
        `export to ONNX: the algorithm ${prediction.id} predicts in a way of its own that cannot be written; take --format safetensors`,
      );
  }
}

/** Algorithms that do more than classify the backbone's features. */
const OWN_WAYS = ["arm", "mtl", "mdsdi"];

/** Whether backbone and classifier alone give the model's logits, as in files of format 1 that name the algorithm all the same. */
function isPlain(model: Model): boolean {
  const { backbone, classifier } = model.network.modules;
  if (!(backbone instanceof Backbone) || !(classifier instanceof Layer)) return false;
  return scope(() =>
    noGrad(() => {
      const x = new Random(0, ["export"]).normal_(empty([2, ...model.about.preprocessing.inputShape]));
      try {
        const logits = classifier.forward(backbone.forward(x));
        return logits.eq(model.forward(x).logits).sum().item() === logits.numel;
      } catch (error) {
        if (error instanceof EngineError) return false; // features or inputs of another size
        throw error;
      }
    }),
  );
}

/** ARM's mean over groups of `size` maps in a row; all are one group where they do not divide. */
function groupMeans(graph: OnnxGraph, maps: Value, size: number): Value {
  const shape = graph.node("Shape", [maps]);
  const count = graph.node("Slice", [shape, graph.sizes([0]), graph.sizes([1])]); // [n]
  const own = graph.sizes([size]);
  const divides = graph.node("Equal", [graph.node("Mod", [count, own]), graph.sizes([0])]);
  const members = graph.node("Where", [divides, own, count]);
  const picture = graph.node("Slice", [shape, graph.sizes([1]), graph.sizes([4])]);
  const grouped = graph.node("Concat", [graph.sizes([-1]), members, picture], { axis: 0 });
  const groups = graph.node("Reshape", [maps, grouped]); // [groups, members, 1, height, width]
  const mean = graph.node("ReduceMean", [groups, graph.sizes([1])], { keepdims: 1 });
  return graph.node("Reshape", [graph.node("Expand", [mean, graph.node("Shape", [groups])]), shape]);
}

function backboneIn(modules: Readonly<Record<string, Module>>, name: string): Backbone {
  const found = modules[name];
  if (found instanceof Backbone) return found;
  throw new UsageError(`export to ONNX: the model has no backbone "${name}"`);
}

function layerNodes(graph: OnnxGraph, x: Value, layer: Module | undefined, name: string): Value {
  const value = layer instanceof Layer ? sequential(graph, x, layer) : undefined;
  if (value !== undefined) return value;
  throw new UsageError(`export to ONNX: ${name} has a layer that cannot be written; take --format safetensors`);
}
