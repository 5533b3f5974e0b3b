import { join } from "node:path";
import { expect, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { loadNative } from "../engine/load.js";
import { ones } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { BatchNorm } from "../nn/index.js";
import { loadModel } from "./index.js";

test("a model keeps the folds of its batch norms, gives the numbers of norms that are not folded, and frees the folds", async () => {
  const path = join(temporaryFolder(), "model.safetensors");
  writeMadeModel(path, { backbone: "mobilenet_v2", inputShape: [3, 32, 32] });
  const before = loadNative().liveTensors();
  const model = await loadModel(path);
  const norms = [...model.network.modules.backbone.modules()].flatMap(([, layer]) =>
    layer instanceof BatchNorm ? [layer] : [],
  );
  const logits = (): number[] => scope(() => model.forward(ones([2, 3, 32, 32])).logits.toNumbers());
  const first = logits();
  const live = loadNative().liveTensors();
  // The same layers as in evaluations of this number of pictures, so that predictions equal those of evaluations bit for bit.
  expect(norms[0].keptFolds?.size).toBe(12);
  expect(logits()).toEqual(first);
  expect(loadNative().liveTensors()).toBe(live);
  for (const norm of norms) norm.foldable = false;
  const scale = Math.max(...first.map(Math.abs));
  expect(logits().map((value) => value / scale)).toEqual(first.map((value) => expect.closeTo(value / scale, 4)));
  model.dispose();
  expect(loadNative().liveTensors()).toBe(before);
});
