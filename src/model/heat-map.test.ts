import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import type { ToyCnn } from "../backbones/toy-cnn.js";
import { liveTensors } from "../engine/device.js";
import { zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import type { Linear } from "../nn/index.js";
import type { ProbedBackbone } from "../probe/probed-backbone.js";
import { hasHeatMaps, heatMaps } from "./heat-map.js";
import { loadModel } from "./load-model.js";
import type { Model } from "./model.js";

async function made(options: Parameters<typeof writeMadeModel>[1] = {}): Promise<Model> {
  const path = join(temporaryFolder(), "model.safetensors");
  writeMadeModel(path, options);
  const model = await loadModel(path);
  onTestFinished(() => model.dispose());
  return model;
}

test.each([false, true])(
  "with average pooling and a linear classifier it is the class activation map (probe: %s)",
  async (probe) => {
    const model = await made({ inputShape: [3, 16, 16], probe });
    const before = liveTensors();
    scope(() => {
      const x = new Random(3).for("x").normal_(zeros([2, 3, 16, 16]));
      const [label, other] = [1, 2];
      const found = heatMaps(model, x, [label, other])!;
      // Zhou's map by hand: the last map weighted by the row of the classifier, with negative values set to 0.
      const { backbone, classifier } = model.network.modules as unknown as {
        backbone: ProbedBackbone & ToyCnn;
        classifier: Linear;
      };
      const body = (probe ? backbone.body : backbone) as ToyCnn;
      const expected = noGrad(() => {
        let last: Tensor | undefined;
        body.stages(x, (map, stage) => {
          if (stage === body.stageChannels!.length - 1) last = map;
          return map;
        });
        const weight = probe ? classifier.weight.mm(backbone.map.weight) : classifier.weight;
        return [label, other].map((at, i) => {
          const own = weight.narrow(0, at, 1).view(1, -1, 1, 1);
          return last!.narrow(0, i, 1).mul(own).sum(1).relu().squeeze(0).toArray() as number[][];
        });
      });
      for (const [i, rows] of expected.entries()) {
        const most = Math.max(...rows.flat());
        for (const [y, row] of rows.entries())
          for (const [c, value] of row.entries()) expect(found[i][y][c]).toBeCloseTo(most > 0 ? value / most : 0, 5);
      }
    });
    expect(liveTensors()).toBe(before);
  },
);

test("the heat is where the picture differs", async () => {
  // A stem that responds to bright regions equally in all channels, and a classifier that adds them up.
  const model = await made({ backbone: "toy-cnn", inputShape: [3, 32, 32] });
  noGrad(() => {
    for (const [name, value] of model.network.modules.backbone.stateDict())
      value.fill_(name.endsWith("bias") ? 0 : 0.05);
    for (const [name, value] of model.network.modules.classifier.stateDict())
      value.fill_(name.endsWith("bias") ? 0 : 1);
  });
  scope(() => {
    const pixels = new Float32Array(3 * 32 * 32);
    for (let c = 0; c < 3; c++)
      for (let y = 24; y < 32; y++) for (let x = 0; x < 8; x++) pixels[c * 1024 + y * 32 + x] = 5;
    const [heat] = heatMaps(model, tensor(pixels, { dtype: "float32" }).view(1, 3, 32, 32), [0])!;
    const sum = (rows: readonly (readonly number[])[]): number => rows.flat().reduce((all, each) => all + each, 0);
    const half = heat.length / 2;
    const corner = heat.slice(half).map((row) => row.slice(0, half)); // the lower left corner
    expect(sum(corner)).toBeGreaterThan(0.95 * sum(heat));
  });
});

test("a model without maps has none", async () => {
  const model = await made({ backbone: "mlp", inputShape: [6], width: 4 });
  expect(hasHeatMaps(model)).toBe(false);
  scope(() => expect(heatMaps(model, tensor([[1, 2, 3, 4, 5, 6]], { dtype: "float32" }), [0])).toBe(null));
});
