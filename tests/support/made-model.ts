/** Model files made for a test, without training: any backbone with random weights and batch-norm statistics. */

import { backboneNamed } from "../../src/backbones/index.js";
import { imageNetMean, imageNetStd } from "../../src/data/augment.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor } from "../../src/engine/tensor.js";
import { writeWeights } from "../../src/engine/weights.js";
import { METADATA_KEY, MODEL_FORMAT, type ModelAbout } from "../../src/model/about.js";
import { makeClassifier } from "../../src/model/classifier.js";
import { BatchNorm, type Module } from "../../src/nn/index.js";
import { ProbedBackbone } from "../../src/probe/probed-backbone.js";

/** The normalization constants as they are written: six digits, from which the float32 numbers are restored. */
export const storedColours = {
  mean: Array.from(imageNetMean, (value) => Number(value.toPrecision(6))),
  std: Array.from(imageNetStd, (value) => Number(value.toPrecision(6))),
};

export interface MadeModel {
  backbone?: string;
  inputShape?: readonly number[];
  classes?: readonly string[];
  domains?: readonly string[];
  nonlinear?: boolean;
  /** A trained map on the backbone, which is frozen. */
  probe?: boolean;
  width?: number;
  /** Changes to what the file says of itself. */
  about?: Record<string, unknown>;
  /** Changes to its tensors; null leaves one out. */
  tensors?: Record<string, Tensor | null>;
}

/** Writes a model file and returns what it says of itself. */
export function writeMadeModel(path: string, made: MadeModel = {}): ModelAbout {
  const { backbone: id = "toy-cnn", inputShape = [3, 8, 8], classes = ["cat", "dog", "fox"] } = made;
  const options = { inputShape, dropout: 0, batchNorm: "frozen" as const, ...(made.width && { width: made.width }) };
  const body = backboneNamed(id).build(options);
  using backbone = made.probe ? new ProbedBackbone(body) : body;
  const kind = made.nonlinear ? "nonlinear" : "linear";
  using classifier = makeClassifier(kind, backbone.width, classes.length);
  const random = new Random(7);
  for (const module of [backbone, classifier]) randomValues(module, random);
  const about = {
    format: MODEL_FORMAT,
    model: "current",
    step: 9,
    backbone: id,
    backboneOptions: { ...options, ...(made.probe && { probe: true }) },
    width: backbone.width,
    classes,
    dataset: "made",
    domains: made.domains ?? ["photo", "paint"],
    testDomains: ["sketch"],
    preprocessing:
      inputShape.length === 3 && inputShape[0] === 3
        ? { kind: "pictures", inputShape, shortSide: 256, ...storedColours }
        : { kind: "arrays", inputShape },
    prediction: { kind: "plain", classifier: kind },
    modules: ["backbone", "classifier"],
    startingWeights: null,
    distance: null,
    calibration: null,
    settings: { algorithm: "erm" },
    ...made.about,
  } as unknown as ModelAbout;
  scope(() => {
    const state = new Map<string, Tensor>();
    for (const [name, tensor] of backbone.stateDict()) state.set(`backbone.${name}`, tensor);
    for (const [name, tensor] of classifier.stateDict()) state.set(`classifier.${name}`, tensor);
    for (const [name, tensor] of Object.entries(made.tensors ?? {}))
      if (tensor) state.set(name, tensor);
      else state.delete(name);
    writeWeights(path, state, { [METADATA_KEY]: JSON.stringify(about) });
  });
  return about;
}

/** Starting values, and statistics and factors of batch norms that are not those of a fresh network. */
function randomValues(module: Module, random: Random): void {
  module.initialize(random.for("values"));
  noGrad(() => {
    for (const [name, layer] of module.modules()) {
      if (!(layer instanceof BatchNorm)) continue;
      const own = random.for("norm", name);
      own.for("mean").uniform_(layer.running_mean, -0.3, 0.3);
      own.for("variance").uniform_(layer.running_var, 0.5, 2);
      own.for("weight").uniform_(layer.weight, 0.6, 1.4);
      own.for("bias").uniform_(layer.bias, -1, 8); // enough for ReLU6 to cut
    }
  });
}
