/**
 * Converts a ResNet-50 of Keras, in the format of TensorFlow.js (model.json and shards), to torchvision's names. The
 * networks are equal, except for the strides (resnet.ts, `resnet50_v1`), so the conversion is exact:
 *
 * - kernels are height × width × inputs × outputs there, and outputs × inputs × height × width here;
 * - the first convolution reads blue, green, red there, because the weights come from Caffe;
 * - convolutions have biases there: x + b normalized with the mean m is x normalized with the mean m − b;
 * - the epsilon of batch norm is 1.001e-5 there and 1e-5 here, so the difference is added to the variances. A copy of the
 *   model may state 1e-3, the default of Keras, for weights that were trained with 1e-5: it is ignored.
 */
import { join } from "node:path";
import { type TensorToStore, writeSafetensors } from "../engine/safetensors.js";
import { DataError } from "../errors.js";
import { readBytes, readText } from "../files/open-file.js";

/** Of Keras's ResNet, and of torchvision's batch norm. */
const EPSILON = { keras: 1.001e-5, torchvision: 1e-5 };

interface Stored {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly quantization?: unknown;
}

type Tensors = ReadonlyMap<string, { readonly shape: readonly number[]; readonly values: Float32Array }>;

/** Converts the model in a folder to a safetensors file. */
export function convertKerasResNet(folder: string, path: string, metadata: Readonly<Record<string, string>>): void {
  writeSafetensors(path, convertedTensors(readLayersModel(folder)), metadata);
}

/** The layers of a block: Keras's branch, and torchvision's convolution and norm. */
const BRANCHES: Readonly<Record<string, readonly [conv: string, norm: string]>> = {
  "2a": ["conv1", "bn1"],
  "2b": ["conv2", "bn2"],
  "2c": ["conv3", "bn3"],
  "1": ["downsample.0", "downsample.1"],
};

/** Keras's name of the norm after a convolution, and torchvision's names of both; undefined for other layers. */
function convolutionNames(layer: string): { bn: string; conv: string; norm: string } | undefined {
  if (layer === "conv1") return { bn: "bn_conv1", conv: "conv1", norm: "bn1" };
  const [, stage, block, branch] = /^res(\d)([a-z])_branch(2a|2b|2c|1)$/.exec(layer) ?? [];
  if (stage === undefined) return undefined;
  const prefix = `layer${Number(stage) - 1}.${block.charCodeAt(0) - "a".charCodeAt(0)}`;
  const [conv, norm] = BRANCHES[branch].map((name) => `${prefix}.${name}`);
  return { bn: layer.replace("res", "bn"), conv, norm };
}

function convertedTensors(tensors: Tensors): TensorToStore[] {
  const used = new Set<string>();
  const take = (name: string) => {
    const found = tensors.get(name);
    if (!found) throw new DataError(`converting a ResNet of Keras: expected a tensor ${name}, and there is none`);
    used.add(name);
    return found;
  };
  const converted: TensorToStore[] = [];
  const add = (name: string, shape: readonly number[], values: () => Float32Array) =>
    converted.push({ name, dtype: "float32", shape, bytes: () => littleEndian(values()) });
  for (const name of tensors.keys()) {
    if (!name.endsWith("/kernel")) continue;
    const layer = name.slice(0, -"/kernel".length);
    const { shape, values } = take(name);
    const bias = take(`${layer}/bias`);
    const names = convolutionNames(layer);
    if (names && shape.length === 4) {
      const [height, width, inputs, outputs] = shape;
      add(`${names.conv}.weight`, [outputs, inputs, height, width], () => kernelOf(values, shape, layer === "conv1"));
      const of = (part: string) => take(`${names.bn}/${part}`);
      const [gamma, beta, mean, variance] = ["gamma", "beta", "moving_mean", "moving_variance"].map(of);
      add(`${names.norm}.weight`, gamma.shape, () => gamma.values);
      add(`${names.norm}.bias`, beta.shape, () => beta.values);
      add(`${names.norm}.running_mean`, mean.shape, () => mean.values.map((value, i) => value - bias.values[i]));
      const more = EPSILON.keras - EPSILON.torchvision;
      add(`${names.norm}.running_var`, variance.shape, () => variance.values.map((value) => value + more));
    } else if (layer === "fc1000" && shape.length === 2) {
      const [inputs, outputs] = shape;
      add("fc.weight", [outputs, inputs], () => kernelOf(values, [1, 1, inputs, outputs], false));
      add("fc.bias", bias.shape, () => bias.values);
    } else throw new DataError(`converting a ResNet of Keras: unexpected layer ${layer} with the shape [${shape}]`);
  }
  const unused = [...tensors.keys()].filter((name) => !used.has(name));
  if (unused.length > 0 || converted.length === 0)
    throw new DataError(
      `converting a ResNet of Keras: unexpected tensors ${unused.slice(0, 3).join(", ") || "(none)"}`,
    );
  return converted;
}

/** A kernel in torchvision's order, if wanted with its input channels reversed. */
function kernelOf(values: Float32Array, shape: readonly number[], reversed: boolean): Float32Array {
  const [height, width, inputs, outputs] = shape;
  const result = new Float32Array(values.length);
  for (let place = 0, from = 0; place < height * width; place++)
    for (let input = 0; input < inputs; input++) {
      const channel = reversed ? inputs - 1 - input : input;
      for (let output = 0; output < outputs; output++, from++)
        result[(output * inputs + channel) * height * width + place] = values[from];
    }
  return result;
}

/** The bytes of numbers. The format and all supported machines are little-endian. */
const littleEndian = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** The tensors of a TensorFlow.js model: model.json states names and shapes, whose bytes follow one another in shards. */
function readLayersModel(folder: string): Tensors {
  const path = join(folder, "model.json");
  const tensors = new Map<string, { shape: readonly number[]; values: Float32Array }>();
  for (const { paths, weights } of manifestOf(path)) {
    const bytes = joined(paths.map((name) => join(folder, name)));
    let offset = 0;
    for (const { name, shape, dtype, quantization } of weights) {
      if (dtype !== "float32" || quantization !== undefined)
        throw new DataError(`${path}: ${name} is ${dtype}${quantization ? ", quantized" : ""}; expected float32`);
      const length = shape.reduce((product, size) => product * size, 1);
      if (offset + 4 * length > bytes.length)
        throw new DataError(`${path}: its shards have ${bytes.length} bytes, too few for ${name}. Is one incomplete?`);
      tensors.set(name, { shape, values: new Float32Array(bytes.buffer, bytes.byteOffset + offset, length) });
      offset += 4 * length;
    }
    if (offset !== bytes.length)
      throw new DataError(`${path}: its shards have ${bytes.length} bytes, and its tensors need ${offset}`);
  }
  return tensors;
}

function manifestOf(path: string): readonly { paths: readonly string[]; weights: readonly Stored[] }[] {
  try {
    const { weightsManifest } = JSON.parse(readText(path));
    const texts = (values: unknown) => Array.isArray(values) && values.every((value) => typeof value === "string");
    const isOne = (group: { paths: unknown; weights: Stored[] }) =>
      texts(group.paths) &&
      group.weights.every(
        ({ name, shape }) => typeof name === "string" && shape.every((size) => Number.isSafeInteger(size) && size >= 0),
      );
    if (Array.isArray(weightsManifest) && weightsManifest.every(isOne)) return weightsManifest;
  } catch (cause) {
    throw new DataError(`${path}: could not be read as a model of TensorFlow.js: ${(cause as Error).message}`, {
      cause,
    });
  }
  throw new DataError(`${path}: expected a model of TensorFlow.js with a list of weights and shards`);
}

/** The content of several files, one after the other. */
function joined(paths: readonly string[]): Buffer {
  try {
    return Buffer.concat(paths.map((path) => readBytes(path)));
  } catch (cause) {
    throw new DataError(`a shard of the model could not be read: ${(cause as Error).message}`, { cause });
  }
}
