/** A small ResNet of Keras, and its logits by an interpreter of its layers (tests/vectors/keras_resnet.py). */

import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { normalizations } from "../data/normalization.js";
import { openWeights } from "../engine/open-weights.js";
import { conv2d } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { convertKerasResNet } from "./convert-keras-resnet.js";

const VECTORS = new URL("../../tests/vectors/", import.meta.url);
const MODEL = fileURLToPath(new URL("keras-resnet", VECTORS));

/** Pictures of 0 to 255, as Caffe's normalization gives them to a network. */
function pictures(size: number): Tensor {
  const { mean, std } = normalizations.caffe;
  const channels = (values: readonly number[]) => tensor(values, { dtype: "float64" }).view(1, 3, 1, 1);
  const rgb = formulaTensor("stand-in", [2, 3, size, size], { scale: 127.5, around: 127.5, dtype: "float64" });
  return rgb.div(255).sub(channels(mean)).div(channels(std));
}

/** A ResNet v1 of any widths under torchvision's names, in float64. */
function logitsOf(state: ReadonlyMap<string, Tensor>, x: Tensor): Tensor {
  const get = (name: string) => state.get(name)!.toDType("float64");
  const convolve = (from: Tensor, conv: string, norm: string, stride: number, padding: number) => {
    const of = (part: string) => get(`${norm}.${part}`).view(1, -1, 1, 1);
    const y = conv2d(from, get(`${conv}.weight`), undefined, stride, padding).sub(of("running_mean"));
    return y.div(of("running_var").add(1e-5).sqrt()).mul(of("weight")).add(of("bias"));
  };
  let map = convolve(x, "conv1", "bn1", 2, 3).relu().maxPool2d([3, 3], [2, 2], [1, 1]);
  for (let layer = 1; layer <= 4; layer++)
    for (let block = 0; state.has(`layer${layer}.${block}.conv1.weight`); block++) {
      const at = `layer${layer}.${block}`;
      const stride = layer > 1 && block === 0 ? 2 : 1;
      const narrow = convolve(map, `${at}.conv1`, `${at}.bn1`, stride, 0).relu();
      const inner = convolve(narrow, `${at}.conv2`, `${at}.bn2`, 1, 1).relu();
      const wide = convolve(inner, `${at}.conv3`, `${at}.bn3`, 1, 0);
      const short = state.has(`${at}.downsample.0.weight`);
      map = wide.add(short ? convolve(map, `${at}.downsample.0`, `${at}.downsample.1`, stride, 0) : map).relu();
    }
  return map.mean([2, 3]).matmul(get("fc.weight").t()).add(get("fc.bias"));
}

test("a converted ResNet gives the logits of the one of Keras, and says what it is", () => {
  const path = join(temporaryFolder(), "resnet.safetensors");
  convertKerasResNet(MODEL, path, { backbone: "resnet50_v1" });
  scope(() => {
    const expected = readWeights(fileURLToPath(new URL("keras-resnet.safetensors", VECTORS))).get("stand-in")!;
    const state = readWeights(path);
    expectClose(logitsOf(state, pictures(32)), expected, { rtol: 2e-7 });
    expect(state.get("conv1.weight")!.shape).toEqual([4, 3, 7, 7]);
    expect(state.get("fc.weight")!.shape).toEqual([5, 12]);
  });
  using file = openWeights(path);
  expect(file.metadata).toEqual({ backbone: "resnet50_v1" });
});

interface Model {
  weightsManifest: { weights: Record<string, unknown>[] }[];
}

/** A copy of the model, changed by a function of its folder and its model.json. */
function changed(change: (folder: string, model: Model) => void) {
  const folder = temporaryFolder();
  cpSync(MODEL, folder, { recursive: true });
  const path = join(folder, "model.json");
  const model = JSON.parse(readFileSync(path, "utf8"));
  change(folder, model);
  writeFileSync(path, JSON.stringify(model));
  return folder;
}
const set = (model: Model, facts: Record<string, unknown>) => Object.assign(model.weightsManifest[0].weights[0], facts);

test.each<[string, Parameters<typeof changed>[0], string]>([
  [
    "a missing shard",
    (folder) => rmSync(join(folder, "group1-shard2of2.bin")),
    "a shard of the model could not be read",
  ],
  ["a short shard", (folder) => truncateSync(join(folder, "group1-shard1of2.bin"), 100), "too few for"],
  ["a tensor less", (_, model) => void model.weightsManifest[0].weights.pop(), "and its tensors need"],
  ["quantized numbers", (_, model) => set(model, { quantization: {} }), "quantized; expected float32"],
  ["another layer", (_, model) => set(model, { name: "conv9/kernel" }), "expected a tensor"],
  [
    "no manifest",
    (_, model) => void Reflect.deleteProperty(model, "weightsManifest"),
    "expected a model of TensorFlow.js",
  ],
  ["numbers as shapes", (_, model) => set(model, { shape: 7 }), "could not be read as a model"],
])("%s is an error, and no file is written", (_, change, message) => {
  const to = join(temporaryFolder(), "resnet.safetensors");
  expect(() => convertKerasResNet(changed(change), to, {})).toThrow(message);
  expect(() => readFileSync(to)).toThrow("ENOENT");
});
