/**
 * Exports a model as a PyTorch state dict under torchvision's or timm's own names, in a safetensors file, with an
 * example in Python that loads it strictly and needs nothing but that package. Logits are those of the model; divided
 * by the temperature, their softmax gives the probabilities of `nudge predict`.
 */

import { basename } from "node:path";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { replaceFile } from "../files/replace-file.js";
import { temperatureOf } from "../model/about.js";
import type { Model } from "../model/index.js";
import { exportMetadata } from "./export-metadata.js";
import { plainNetwork, whyNotPlain, withCounters } from "./plain-network.js";
import { type PyTorchFamily, pytorchFamily } from "./pytorch-families.js";

/** Writes the file, and the example beside it with the ending `.py`. Returns the path of the example. */
export function exportPyTorch(model: Model, path: string): string {
  const family = pytorchFamily(model.about.backbone);
  if (!family)
    throw new UsageError(
      `export of ${model.path}: neither torchvision nor timm has ${model.about.backbone}. Take --format onnx instead`,
    );
  const problem = whyNotPlain(model);
  if (problem)
    throw new UsageError(
      `export of ${model.path}: no state dict can express it: ${problem}. Take --format onnx instead`,
    );
  scope(() => {
    const tensors = noGrad(() => withCounters(family.tensors(plainNetwork(model))));
    writeWeights(path, tensors, { ...exportMetadata(model.about), format: "pt" }, { checksums: false });
  });
  const example = `${path.replace(/\.safetensors$/, "")}.py`;
  replaceFile(example, (write) => write(Buffer.from(exampleFor(model, family, basename(path)))));
  return example;
}

const STRIDES = `
def with_v1_strides(model):  # He's ResNet-50 has the stride in the first convolution of a block
    for block in (model.layer2[0], model.layer3[0], model.layer4[0]):
        block.conv1.stride, block.conv2.stride = (2, 2), (1, 1)
    return model

`;

/** The program in Python. */
function exampleFor({ about }: Model, family: PyTorchFamily, file: string): string {
  const build = family.build(about);
  return `import json
import struct
import sys

import torch
import ${family.package}

TYPES = {"F32": torch.float32, "I64": torch.int64}
${build.includes("with_v1_strides") ? STRIDES : ""}
def read(path):
    """The tensors of a safetensors file, and its metadata."""
    data = bytearray(open(path, "rb").read())
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, item in header.items():
        start, end = (8 + size + offset for offset in item["data_offsets"])
        tensors[name] = torch.frombuffer(data[start:end], dtype=TYPES[item["dtype"]]).reshape(item["shape"])
    return tensors, metadata


tensors, metadata = read(sys.argv[1] if len(sys.argv) > 1 else ${JSON.stringify(file)})
model = ${build}
model.load_state_dict(tensors, strict=True)
model.eval()
classes, temperature = json.loads(metadata["classes"]), ${temperatureOf(about)}
if __name__ == "__main__":
    x = torch.zeros(1, ${about.preprocessing.inputShape.join(", ")})  # one picture, prepared as metadata["preprocessing"] says
    with torch.no_grad():
        probabilities = (model(x) / temperature).softmax(1)[0]
    print({name: round(float(value), 4) for name, value in zip(classes, probabilities)})
`;
}
