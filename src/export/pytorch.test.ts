/** State dicts for PyTorch: the example beside each is run by a Python with torchvision, and computes the model's probabilities. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { storedColours, writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { readWeights } from "../engine/weights.js";
import { loadModel, type Model } from "../model/index.js";
import { exportPyTorch } from "./pytorch.js";

/** A Python with torchvision; undefined where there is none. */
const python = ["python3", "/usr/bin/python3"].find((command) => {
  try {
    execFileSync(command, ["-c", "import torchvision"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

async function made(
  backbone: string,
  side: number,
  more: Record<string, unknown> = {},
): Promise<{ folder: string; model: Model }> {
  const folder = temporaryFolder();
  const inputShape = [3, side, side];
  const preprocessing = { kind: "pictures", inputShape, shortSide: 256, ...storedColours };
  const about = { preprocessing, calibration: { temperature: 1.7, count: 10, quantiles: [] }, ...more };
  writeMadeModel(join(folder, "made.safetensors"), { backbone, inputShape, about, probe: more.probe === true });
  const model = await loadModel(join(folder, "made.safetensors"));
  onTestFinished(() => model.dispose());
  return { folder, model };
}

/** Imports the example as a module, and prints the probabilities of a picture. */
const DRIVER = `
import json, runpy, sys, torch
space = runpy.run_path(sys.argv[2], run_name="example")
x = torch.tensor(json.load(open(sys.argv[3]))).reshape([2, 3] + [int(sys.argv[4])] * 2)
with torch.no_grad():
    print(json.dumps((space["model"](x) / space["temperature"]).softmax(1).tolist()))
`;

/** One of each family; the larger ones in the long tests. */
const NETWORKS = [
  ["resnet18", "mobilenet_v2"],
  ["resnet50", "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "vit_b_32"],
].slice(0, process.env.NUDGE_LONG ? 2 : 1);

test.skipIf(!python).each(NETWORKS.flat())(
  "%s: torchvision loads the names strictly and computes the model's probabilities",
  async (backbone) => {
    const side = 64;
    const { folder, model } = await made(backbone, side);
    const file = join(folder, "model.safetensors");
    const example = exportPyTorch(model, file);
    const { x, ours } = scope(() => {
      const x = new Random(2).normal_(empty([2, 3, side, side]));
      return { x: x.data() as Float32Array, ours: model.forward(x).logits.div(1.7).softmax(1).toArray() as number[][] };
    });
    writeFileSync(join(folder, "x.json"), JSON.stringify([...x]));
    writeFileSync(join(folder, "driver.py"), DRIVER);
    const printed = execFileSync(python!, ["driver.py", file, example, "x.json", String(side)], {
      cwd: folder,
      encoding: "utf8",
    });
    const theirs = JSON.parse(printed) as number[][];
    for (const [i, row] of ours.entries())
      for (const [j, value] of row.entries()) expect(Math.abs(theirs[i][j] - value)).toBeLessThan(2e-5);
  },
);

test.skipIf(!python)("the example prints the probabilities of the classes", async () => {
  const { folder, model } = await made("resnet18", 64);
  const example = exportPyTorch(model, join(folder, "model.safetensors"));
  expect(execFileSync(python!, [example], { cwd: folder, encoding: "utf8" })).toMatch(/^\{'cat': 0\.\d+, 'dog': /);
});

test("DINOv2 with registers has timm's names: the position of the class token is in the token", async () => {
  const { folder, model } = await made("dinov2_vits14_reg", 28);
  exportPyTorch(model, join(folder, "model.safetensors"));
  scope(() => {
    const tensors = readWeights(join(folder, "model.safetensors"));
    expect(tensors.get("pos_embed")!.shape).toEqual([1, 4, 384]);
    expect(tensors.get("reg_token")!.shape).toEqual([1, 4, 384]);
    const state = model.network.modules.backbone.stateDict();
    const sum = state.get("cls_token")!.add(state.get("pos_embed")!.narrow(1, 0, 1));
    expect(tensors.get("cls_token")!.toArray()).toEqual(sum.toArray());
  });
});

test("what a state dict cannot express is an error that names the format that can", async () => {
  const { folder, model } = await made("small-cnn", 32);
  expect(() => exportPyTorch(model, join(folder, "m.safetensors"))).toThrow(
    /neither torchvision nor timm has small-cnn\. Take --format onnx instead/,
  );
});
