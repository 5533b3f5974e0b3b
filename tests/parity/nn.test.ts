/** Every layer and loss against PyTorch's numbers (tests/vectors/nn.py), forward and backward. */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { DType } from "../../src/engine/dtype.js";
import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import {
  AdaptiveAvgPool2d,
  AvgPool2d,
  BatchNorm1d,
  BatchNorm2d,
  Conv2d,
  convNorm,
  crossEntropy,
  Embedding,
  GlobalAvgPool2d,
  GroupNorm,
  Layer,
  Linear,
  MaxPool2d,
  mse,
  type Reduction,
  ReLU,
  ReLU6,
  Sequential,
} from "../../src/nn/index.js";
import { expectClose } from "../support/close.js";
import { fillByFormula, formulaTensor } from "../support/formula-weights.js";

const VECTORS = fileURLToPath(new URL("../vectors/nn.safetensors", import.meta.url));

/** The float64 numbers are PyTorch's own; in float32 the same must come out to what float32 can hold. */
const TOLERANCES = { float64: { rtol: 1e-10, atol: 1e-12 }, float32: { rtol: 1e-5, atol: 1e-5 } } as const;
const DTYPES = Object.keys(TOLERANCES) as (keyof typeof TOLERANCES)[];

/** A function as a layer without parameters. */
class Apply extends Layer {
  constructor(readonly apply: (x: Tensor) => Tensor) {
    super();
  }

  forward(x: Tensor): Tensor {
    return this.apply(x);
  }
}

/** A convolution and a batch norm after it, through `convNorm`. */
class Folded extends Sequential {
  override forward(x: Tensor): Tensor {
    return convNorm(this.layers[0] as Conv2d, this.layers[1] as BatchNorm2d, x);
  }
}

const convAndNorm = () => [new Conv2d(3, 4, { kernel: 3, padding: 1 }), new BatchNorm2d(4)] as const;

function frozenNorm(norm: BatchNorm2d): BatchNorm2d {
  norm.frozen = true;
  return norm;
}

interface Case {
  /** The stored numbers, when the test's name is another. */
  stored?: string;
  build: (dtype: DType) => Layer;
  shape: readonly number[];
  batches?: number;
  scale?: number;
  evaluate?: boolean;
}

const labels = () => tensor([0, 3, 1, 3, 2], { dtype: "int64" });
const probabilities = (dtype: DType) => formulaTensor("cross-entropy.probabilities", [5, 4], { dtype }).softmax(1);

const REDUCTIONS: readonly Reduction[] = ["mean", "sum", "none"];
const losses = Object.fromEntries(
  REDUCTIONS.flatMap((reduction): [string, Case][] => [
    [
      `cross-entropy-${reduction}`,
      { build: () => new Apply((x) => crossEntropy(x, labels(), { reduction })), shape: [5, 4], scale: 8 },
    ],
    [
      `mse-${reduction}`,
      {
        build: (dtype) => new Apply((x) => mse(x, formulaTensor("mse.target", [5, 4], { dtype }), { reduction })),
        shape: [5, 4],
      },
    ],
  ]),
);

const CASES: Record<string, Case> = {
  linear: { build: () => new Linear(5, 3), shape: [4, 5] },
  "linear-no-bias": { build: () => new Linear(5, 3, { bias: false }), shape: [2, 4, 5] },
  conv: { build: () => new Conv2d(3, 4, { kernel: 3, stride: 2, padding: 1 }), shape: [2, 3, 7, 6] },
  "conv-no-bias": { build: () => new Conv2d(3, 4, { kernel: 1, bias: false }), shape: [2, 3, 5, 4] },
  "conv-groups": { build: () => new Conv2d(4, 6, { kernel: 3, groups: 2 }), shape: [2, 4, 5, 5] },
  "conv-depthwise": {
    build: () => new Conv2d(4, 4, { kernel: 3, padding: 1, groups: 4, bias: false }),
    shape: [2, 4, 5, 5],
  },
  "batch-norm-train": { build: () => new BatchNorm2d(3), shape: [4, 3, 3, 2], batches: 2 },
  "batch-norm-eval": { build: () => new BatchNorm2d(3), shape: [4, 3, 3, 2], evaluate: true },
  "batch-norm-frozen": {
    stored: "batch-norm-eval",
    build: () => frozenNorm(new BatchNorm2d(3)),
    shape: [4, 3, 3, 2],
    batches: 1,
  },
  "batch-norm-average": {
    build: () => new BatchNorm2d(3, { momentum: null, eps: 1e-3 }),
    shape: [4, 3, 3, 2],
    batches: 3,
  },
  "batch-norm-1d": { build: () => new BatchNorm1d(3, { momentum: 0.9 }), shape: [5, 3], batches: 2 },
  "group-norm": { build: () => new GroupNorm(2, 6, { eps: 1e-4 }), shape: [3, 6, 3, 2] },
  "group-norm-vector": { build: () => new GroupNorm(4, 8), shape: [3, 8] },
  relu: { build: () => new ReLU(), shape: [3, 7] },
  relu6: { build: () => new ReLU6(), shape: [3, 7], scale: 9 },
  "max-pool": { build: () => new MaxPool2d(3, { stride: 2, padding: 1 }), shape: [2, 3, 7, 6] },
  "avg-pool": { build: () => new AvgPool2d(3, { stride: 2, padding: 1 }), shape: [2, 3, 7, 6] },
  "adaptive-avg-pool": { build: () => new AdaptiveAvgPool2d([3, 2]), shape: [2, 3, 7, 5] },
  "global-avg-pool": { build: () => new GlobalAvgPool2d(), shape: [2, 3, 7, 5] },
  ...losses,
  "cross-entropy-probabilities": {
    build: (dtype) => new Apply((x) => crossEntropy(x, probabilities(dtype))),
    shape: [5, 4],
  },
  "conv-norm": { build: () => new Sequential(...convAndNorm()), shape: [2, 3, 5, 4], evaluate: true },
  "conv-norm folded": {
    stored: "conv-norm",
    build: () => new Folded(...convAndNorm()),
    shape: [2, 3, 5, 4],
    evaluate: true,
  },
};

/** What a case computes, under the names its numbers are stored by. */
function run(name: string, dtype: DType): Map<string, Tensor> {
  const { stored = name, build, shape, batches = 1, scale = 2, evaluate = false } = CASES[name];
  const layer = fillByFormula(build(dtype).to({ dtype }), `${stored}.`).train(!evaluate);
  const inputs = Array.from({ length: batches }, (_, i) => formulaTensor(`${stored}.x${i}`, shape, { scale, dtype }));
  const x = inputs[batches - 1].requiresGrad_();
  const outputs = inputs.map((input) => layer.forward(input));
  const output = outputs[batches - 1];
  output.backward({ gradient: formulaTensor(`${stored}.gradient`, output.shape, { dtype }) });
  const found = new Map([
    [`${stored}/output`, output],
    [`${stored}/gradient/x`, x.grad!],
  ]);
  for (const [key, parameter] of layer.namedParameters()) found.set(`${stored}/gradient/${key}`, parameter.grad!);
  for (const [key, buffer] of layer.namedBuffers()) found.set(`${stored}/state/${key}`, buffer.clone());
  layer.dispose();
  return found;
}

for (const dtype of DTYPES) {
  for (const name of Object.keys(CASES)) {
    test(`${name} in ${dtype} gives PyTorch's output and gradients`, () => {
      scope(() => {
        const { stored = name } = CASES[name];
        const expected = new Map([...readWeights(VECTORS)].filter(([key]) => key.startsWith(`${stored}/`)));
        const actual = run(name, dtype);
        expect([...actual.keys()].sort()).toEqual([...expected.keys()].sort());
        for (const [key, value] of actual) expectClose(value, expected.get(key)!, { ...TOLERANCES[dtype], what: key });
      });
    });
  }

  test(`embedding in ${dtype} gives PyTorch's output and gradient`, () => {
    scope(() => {
      const expected = readWeights(VECTORS);
      using table = fillByFormula(new Embedding(5, 3).to({ dtype }), "embedding.");
      const positions = tensor(
        [
          [0, 4, 2],
          [4, 4, 1],
        ],
        { dtype: "int64" },
      );
      const output = table.forward(positions);
      output.backward({ gradient: formulaTensor("embedding.gradient", [2, 3, 3], { dtype }) });
      expectClose(output, expected.get("embedding/output")!, TOLERANCES[dtype]);
      expectClose(table.weight.grad!, expected.get("embedding/gradient/weight")!, TOLERANCES[dtype]);
    });
  });
}

test("every stored number is used in a comparison", () => {
  scope(() => {
    const cases = new Set([...readWeights(VECTORS).keys()].map((key) => key.split("/")[0]));
    const known = Object.entries(CASES).map(([name, { stored = name }]) => stored);
    expect([...cases].sort()).toEqual([...new Set([...known, "embedding"])].sort());
  });
});
