/** Every backbone against PyTorch's numbers (tests/vectors/backbones.py): features and one full training step. */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Backbone, type BackboneOptions, backboneNamed, backbones } from "../../src/backbones/index.js";
import { TRANSFORMERS } from "../../src/backbones/transformer-layouts.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { Linear } from "../../src/nn/linear.js";
import { crossEntropy } from "../../src/nn/loss.js";
import { expectClose } from "../support/close.js";
import { fillByFormula, formulaTensor } from "../support/formula-weights.js";
import { LARGER_BACKBONES } from "../support/larger-backbones.js";

const VECTORS = fileURLToPath(new URL("../vectors/backbones.safetensors", import.meta.url));
const CLASSES = 5;
const SHOWN = 6;

interface Case {
  id: string;
  shape: readonly number[];
  options?: BackboneOptions;
  scale?: number;
  evaluate?: boolean;
  /** One by default. */
  updates?: number;
  rate?: number;
}

const picture = [2, 3, 64, 64];
const pictures = [4, 3, 64, 64];
const five = { updates: 5, rate: 2e-5 };
const trained = { batchNorm: "trained" } as const;

/** By the names under which their numbers are stored. */
const CASES: Record<string, Case> = {
  mlp: { id: "mlp", shape: [6, 12], options: { inputShape: [12], width: 16, depth: 4 } },
  "linear-map": { id: "linear-map", shape: [6, 12], options: { inputShape: [12], width: 7 } },
  "diagonal-map": { id: "diagonal-map", shape: [6, 12], options: { inputShape: [12] } },
  "toy-cnn": { id: "toy-cnn", shape: [3, 4, 8, 8], options: { inputChannels: 4 } },
  "small-cnn": { id: "small-cnn", shape: [3, 3, 32, 32] },
  "mnist-cnn": { id: "mnist-cnn", shape: [3, 2, 28, 28], options: { inputChannels: 2 } },
  "wide-resnet-16-2": { id: "wide-resnet-16-2", shape: [4, 3, 32, 32], options: trained },
  "wide-resnet-16-2 eval": { id: "wide-resnet-16-2", shape: [2, 3, 32, 32], evaluate: true },
  resnet18: { id: "resnet18", shape: picture },
  "resnet18 trained": { id: "resnet18", shape: pictures, options: trained },
  resnet34: { id: "resnet34", shape: picture },
  resnet50: { id: "resnet50", shape: picture },
  "resnet50 trained": { id: "resnet50", shape: pictures, options: trained },
  resnet50_v1: { id: "resnet50_v1", shape: picture },
  "resnet50_v1 trained": { id: "resnet50_v1", shape: pictures, options: trained },
  // Large inputs, so that ReLU6 meets its upper end.
  mobilenet_v2: { id: "mobilenet_v2", shape: picture, scale: 40 },
  "mobilenet_v2 trained": { id: "mobilenet_v2", shape: pictures, options: trained },
  efficientnet_b0: { id: "efficientnet_b0", shape: picture, ...five },
  "efficientnet_b0 trained": { id: "efficientnet_b0", shape: pictures, options: trained, ...five },
  regnet_y_400mf: { id: "regnet_y_400mf", shape: picture, ...five },
  "regnet_y_400mf trained": { id: "regnet_y_400mf", shape: pictures, options: trained, ...five },
  convnext_tiny: { id: "convnext_tiny", shape: [1, 3, 32, 32], ...five },
};

/**
 * The stored numbers are float64, and in float64 ours must be the same but for the order of sums. In float32 they must be
 * what its 24 bits leave: that is most of them with fixed statistics, but training mode divides by the deviations of as
 * few as 16 numbers in each of up to 53 norms, and single gradients far from the loss are not determined any more; their
 * mean absolute values are.
 */
const TOLERANCES = {
  float64: { features: 1e-9, loss: 1e-9, step: 1e-8, columns: 2 + SHOWN },
  float32: { features: 1e-5, loss: 1e-5, step: 1e-3, columns: 2 + SHOWN },
  "float32 trained": { features: 1e-3, loss: 1e-2, step: 0.05, columns: 1 },
} as const;

/** A row for each tensor: mean of the absolute values, mean, and the first elements. */
function row(value: Tensor): number[] {
  const flat = value.detach().toDType("float64").reshape(-1);
  const first = flat.narrow(0, 0, Math.min(SHOWN, flat.numel)).toNumbers();
  const padded = [...first, ...new Array<number>(SHOWN - first.length).fill(0)];
  return [flat.abs().mean().item(), flat.mean().item(), ...padded];
}

/**
 * Each row to a tolerance relative to its tensor's mean absolute value. Some gradients are zero but for rounding (a bias
 * just before a batch norm), so a hundredth of the tolerance is also granted relative to the largest of the tensors.
 */
function expectRows(
  what: string,
  tensors: ReadonlyMap<string, Tensor>,
  expected: { rows: Tensor; names: string[] },
  { step, columns }: { step: number; columns: number },
): void {
  expect([...tensors.keys()]).toEqual(expected.names);
  const rows = expected.rows.toArray() as number[][];
  const largest = Math.max(...rows.map(([size]) => size));
  for (const [i, name] of expected.names.entries()) {
    const actual = scope(() => row(tensors.get(name)!)).slice(0, columns);
    const atol = step * (rows[i][0] + largest / 100);
    expectClose(actual, rows[i].slice(0, columns), { rtol: step, atol, what: `${what} of ${name}` });
  }
}

function storedNames(): (key: string) => string[] {
  using file = openWeights(VECTORS);
  const lists = JSON.parse(file.metadata.lists) as string[][];
  const places = JSON.parse(file.metadata.names) as Record<string, number>;
  return (key) => lists[places[key]];
}

function check(name: string, dtype: "float64" | "float32", options: BackboneOptions = {}): void {
  const { id, shape, scale = 1, evaluate = false, options: own, updates = 1, rate = 1e-4 } = CASES[name];
  const deep = dtype === "float32" && own?.batchNorm === "trained";
  const tolerance = TOLERANCES[deep ? "float32 trained" : dtype];
  const expected = readWeights(VECTORS);
  const names = storedNames();
  const stored = (what: string) => expected.get(`${name}/${what}`)!;
  const rows = (what: string) => ({ rows: stored(what), names: names(`${name}/${what}`) });

  using backbone: Backbone = fillByFormula(
    backboneNamed(id)
      .build({ ...own, ...options })
      .to({ dtype }),
  );
  using head = fillByFormula(new Linear(backbone.width, CLASSES).to({ dtype }), "head.");
  backbone.train(!evaluate);
  const x = formulaTensor("x", shape, { scale, dtype });
  const y = tensor(
    Array.from({ length: shape[0] }, (_, i) => i % CLASSES),
    { dtype: "int64" },
  );

  const features = backbone.forward(x);
  expect(features.shape).toEqual([shape[0], backbone.width]);
  expect(features.dtype).toBe(dtype);
  const shown = features.slice(1, 0, 64);
  const size = stored("features").abs().mean().item();
  expectClose(shown, stored("features"), {
    rtol: tolerance.features,
    atol: tolerance.features * size,
    what: "features",
  });

  let loss = crossEntropy(head.forward(features), y);
  loss.backward();
  const gradients = new Map([...backbone.namedParameters()].map(([key, parameter]) => [key, parameter.grad!]));
  expectRows("gradient", gradients, rows("gradients"), tolerance);
  if (expected.has(`${name}/buffers`)) {
    const buffers = new Map([...backbone.namedBuffers()].filter(([, buffer]) => buffer.dtype === dtype));
    expectRows("statistic", buffers, rows("buffers"), tolerance);
  }

  const losses = [loss.item()];
  for (let update = 1; update <= updates; update++) {
    noGrad(() => {
      for (const parameter of [...backbone.parameters(), ...head.parameters()]) {
        parameter.sub_(parameter.grad!, { alpha: rate });
        parameter.grad = null;
      }
    });
    loss = crossEntropy(head.forward(backbone.forward(x)), y);
    losses.push(loss.item());
    if (update < updates) loss.backward();
  }
  expectRows("parameter", new Map(backbone.namedParameters()), rows("parameters"), tolerance);
  expectClose(losses, stored("losses"), { rtol: tolerance.loss, what: "losses before and after" });
}

for (const name of Object.keys(CASES)) {
  for (const dtype of ["float64", "float32"] as const) {
    test(`${name}: features and a training step equal PyTorch's, in ${dtype}`, () => scope(() => check(name, dtype)));
  }
}

test("every backbone except the larger ones of a family is compared with PyTorch", () => {
  // Vision transformers are in transformers.test.ts, and CLIP's ResNet is in clip-resnet.test.ts, at small sizes.
  const others = Object.keys(backbones).filter(
    (id) => !LARGER_BACKBONES.includes(id) && !Object.hasOwn(TRANSFORMERS, id) && id !== "clip_rn50",
  );
  expect(new Set(Object.values(CASES).map(({ id }) => id))).toEqual(new Set(others));
});

test.each(["resnet18", "mobilenet_v2"])("%s gives the same result if frozen batch norm is not folded", (name) => {
  scope(() => check(name, "float64", { foldBatchNorm: false }));
});
