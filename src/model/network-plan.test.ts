import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { liveTensors } from "../engine/device.js";
import { loadNative } from "../engine/load.js";
import { empty, ones } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { handle } from "../engine/wrap.js";
import { BatchNorm2d, Conv2d, convNorm, globalAverage } from "../nn/index.js";
import { Ensemble } from "./ensemble.js";
import { loadModel } from "./index.js";
import { NetworkPlan } from "./network-plan.js";
import { AdaptedModel } from "./t3a.js";

const draw = (shape: readonly number[], seed = 1): Tensor => {
  const x = empty([...shape]);
  new Random(seed, ["plan"]).normal_(x, 0, 1);
  return x;
};

/** Compares numbers relative to the largest one. */
function expectNear(found: readonly number[], expected: readonly number[], digits: number): void {
  const scale = Math.max(...expected.map(Math.abs));
  expect(scale).toBeGreaterThan(1e-3);
  expect(found.map((value) => value / scale)).toEqual(expected.map((value) => expect.closeTo(value / scale, digits)));
}

/** Compares the plan of a computation with the computation, for batches of 1 and 3 and every kind of vector unit. */
async function expectSame(shape: readonly number[], forward: (x: Tensor) => Tensor): Promise<void> {
  for (const vectors of ["avx512", "avx2", "plain"] as const) await expectSameWith(shape, forward, vectors);
}

async function expectSameWith(
  shape: readonly number[],
  forward: (x: Tensor) => Tensor,
  vectors: "avx512" | "avx2" | "plain",
): Promise<void> {
  const made = NetworkPlan.of(shape, (x) => ({ y: forward(x) }), vectors);
  if (typeof made === "string") throw new Error(made);
  using plan = made;
  for (const count of [1, 3]) {
    using x = keep(draw([count, ...shape], count));
    const { y } = await plan.run(x, 2);
    expectNear(
      y.toNumbers(),
      scope(() => noGrad(() => forward(x)).toNumbers()),
      5,
    );
    y.dispose();
  }
}

/** A convolution and its norm with random values. */
function layer(inputs: number, outputs: number, options: ConstructorParameters<typeof Conv2d>[2]) {
  const conv = new Conv2d(inputs, outputs, { bias: false, ...options });
  const norm = new BatchNorm2d(outputs);
  const random = new Random(5, ["plan", String(outputs)]);
  for (const each of [conv, norm]) each.initialize(random).eval();
  noGrad(() => {
    random.for("mean").normal_(norm.running_mean, 0, 1);
    random.for("bias").normal_(norm.bias, 0, 1);
  });
  onTestFinished(() => {
    for (const each of [conv, norm]) each.dispose();
  });
  return [conv, norm] as const;
}

test.each([
  ["pointwise", { kernel: 1 }],
  ["pointwise with stride 2", { kernel: 1, stride: 2 }],
  ["ordinary", { kernel: 3, padding: 1 }],
  ["of stride 2, without padding", { kernel: 5, stride: 2 }],
  ["with a bias", { kernel: 3, padding: 1, bias: true }],
])("a convolution %s has its usual numbers in a plan", async (_, options) => {
  for (const act of [undefined, "relu", "relu6", "silu"] as const) {
    const [conv, norm] = layer(5, 37, options);
    await expectSame([5, 13, 11], (x) => globalAverage(convNorm(conv, norm, x, { act })));
  }
});

test.each([
  [3, 1, 16],
  [3, 2, 21],
  [5, 1, 9],
  [5, 2, 14],
])(
  "a depthwise convolution of kernel %i and stride %i has its usual numbers, with its neighbours",
  async (kernel, stride, side) => {
    const wide = layer(4, 40, { kernel: 1 });
    const deep = layer(40, 40, { kernel, stride, padding: (kernel - 1) / 2, groups: 40 });
    const back = layer(40, 24, { kernel: 1 });
    const again = layer(24, 24, { kernel: 3, padding: 1 });
    await expectSame([4, side, side + 3], (x) => {
      const block = convNorm(...deep, convNorm(...wide, x, { act: "relu6" }), { act: "relu6" });
      const y = convNorm(...back, block);
      return globalAverage(convNorm(...again, y, { residual: y, act: "relu" }));
    });
  },
);

test("maps that are larger than the cache pass through a plan a few rows at a time", async () => {
  const [stem, wide, back] = [
    layer(3, 32, { kernel: 3, stride: 2, padding: 1 }),
    layer(32, 96, { kernel: 1 }),
    layer(96, 16, { kernel: 1 }),
  ];
  const deep = layer(96, 96, { kernel: 3, stride: 2, padding: 1, groups: 96 });
  const second = layer(16, 16, { kernel: 3, padding: 1 });
  await expectSame([3, 151, 163], (x) => {
    const narrow = convNorm(...back, convNorm(...deep, convNorm(...wide, convNorm(...stem, x, { act: "relu6" }))));
    return globalAverage(convNorm(...second, narrow, { act: "silu" }));
  });
});

/** The differences of probabilities that rounding may make. */
const PROBABILITY = 1e-6;

test.each([
  ["mobilenet_v2", 64],
  ["efficientnet_b0", 64],
  ["resnet18", 64],
  ["resnet50_v1", 64],
])("a prediction with a plan of %s has the probabilities of the forward pass to 1e-6", async (backbone, side) => {
  const path = join(temporaryFolder(), "model.safetensors");
  writeMadeModel(path, { backbone, inputShape: [3, side, side] });
  const before = liveTensors();
  const model = await loadModel(path);
  expect(model.network.hasPlan).toBe(true);
  const x = keep(draw([5, 3, side, side]));
  const exact = scope(() => model.forward(x).logits.toNumbers());
  const { logits, features } = await model.forwardAside(x);
  const probabilities = (numbers: Tensor): number[] => scope(() => numbers.softmax(1).toNumbers());
  const usual = scope(() => model.forward(x).logits.softmax(1).toNumbers());
  const found = probabilities(logits);
  // The pictures differ, so that equal probabilities say something.
  expect(Math.max(...exact) - Math.min(...exact)).toBeGreaterThan(0.1);
  expect(Math.max(...found.map((value, i) => Math.abs(value - usual[i])))).toBeLessThan(PROBABILITY);
  expectNear(
    features.toNumbers(),
    scope(() => model.forward(x).features.toNumbers()),
    5,
  );
  for (const each of [logits, features]) each.dispose();
  // The forward pass stays that of evaluations, bit for bit.
  expect(scope(() => model.forward(x).logits.toNumbers())).toEqual(exact);
  x.dispose();
  model.dispose();
  expect(liveTensors()).toBe(before);
});

test("predictions of several models are those of all of them, and T3A adapts predictions", async () => {
  const folder = temporaryFolder();
  const paths = ["a", "b"].map((name) => join(folder, `${name}.safetensors`));
  const weight = keep(draw([3, 1280], 9));
  writeMadeModel(paths[0], { backbone: "mobilenet_v2", inputShape: [3, 32, 32] });
  writeMadeModel(paths[1], {
    ...{ backbone: "mobilenet_v2", inputShape: [3, 32, 32], tensors: { "classifier.weight": weight } },
  });
  weight.dispose();
  const before = liveTensors();
  const x = keep(draw([4, 3, 32, 32]));
  const logitsOf = async (model: { forwardAside(x: Tensor): Promise<{ logits: Tensor; features: Tensor }> }) => {
    const { logits, features } = await model.forwardAside(x);
    const numbers = logits.toNumbers();
    for (const each of [logits, features]) each.dispose();
    return numbers;
  };
  const models = await Promise.all(paths.map((path) => loadModel(path)));
  const [first, second] = [await logitsOf(models[0]), await logitsOf(models[1])];
  const ensemble = new Ensemble(models);
  expectNear(
    await logitsOf(ensemble),
    first.map((value, i) => (value + second[i]) / 2),
    6,
  );
  ensemble.dispose();

  const adapted = new AdaptedModel(await loadModel(paths[0]), 20);
  const exact = new AdaptedModel(await loadModel(paths[0]), 20);
  expectNear(
    await logitsOf(adapted),
    scope(() => exact.forward(x).logits.toNumbers()),
    4,
  );
  for (const each of [adapted, exact]) each.dispose();
  x.dispose();
  expect(liveTensors()).toBe(before);
});

test("a network with another operator has no plan, and the reason names it", () => {
  expect(NetworkPlan.of([3, 8, 8], (x) => ({ y: globalAverage(x.tanh()) }))).toBe("it uses aten::tanh");
  expect(NetworkPlan.of([3, 8, 8], (x) => ({ y: globalAverage(x) }))).toMatch("the first step must be a convolution");
  expect(NetworkPlan.of([3, 8, 8], (x) => ({ y: x.mul(x.sum().item()) }))).toMatch("reads numbers that depend");
  expect(NetworkPlan.of([8], (x) => ({ y: x }))).toBe("its input is not a picture");
});

test("steps that do not fit together are refused, and so is a freed plan", async () => {
  const { planNetwork, runPlan, freePlan } = loadNative();
  const [weight, bias] = [keep(ones([4, 2, 3, 3])), keep(ones([4]))];
  const step = (changes: Record<number, number> = {}): number[] => {
    const usual = [0, 0, -1, handle(weight), handle(bias), 1, 1, 1, 3, 0, 0, 6];
    return usual.map((value, i) => changes[i] ?? value);
  };
  const mean = [2, 1, -1, -1, -1, 1, 0, 1, 1, 0, 0, 0];
  const plan = (first: number[], shape = [2, 8, 8]): number => planNetwork(shape, [first, mean], [2]);
  for (const [changes, message] of [
    [{ 0: 7 }, "unknown kind"],
    [{ 1: 2 }, "comes later"],
    [{ 2: 2 }, "comes later"],
    [{ 5: 0 }, "out of range"],
    [{ 6: 3 }, "out of range"],
    [{ 7: 2 }, "another number of channels"],
    [{ 8: 1 }, "do not fit"],
  ] as const)
    expect(() => plan(step(changes)), JSON.stringify(changes)).toThrow(message);
  expect(() => plan(step(), [3, 8, 8])).toThrow("another number of channels");
  expect(() => plan(step({ 6: 0 }), [2, 2, 2])).toThrow("smaller than the kernel");
  expect(() => planNetwork([2, 8, 8], [step()], [1])).toThrow("an output that is a map");
  expect(() => planNetwork([2, 8, 8], [step(), mean], [9])).toThrow("does not exist");
  const made = plan(step());
  const [x, out] = [keep(ones([1, 2, 8, 8])), keep(ones([1, 4]))];
  expect(() => runPlan(made, handle(out), [handle(out)], 1)).toThrow("expected float32 [n, 2, 8, 8]");
  expect(() => runPlan(made, handle(x), [handle(x)], 1)).toThrow("another shape");
  expect(() => runPlan(made, handle(x), [], 1)).toThrow("another number of outputs");
  await runPlan(made, handle(x), [handle(out)], 1);
  expect(out.toNumbers()).toEqual([6, 6, 6, 6]);
  freePlan(made);
  expect(() => runPlan(made, handle(x), [handle(out)], 1)).toThrow("has been freed");
  for (const each of [weight, bias, x, out]) each.dispose();
});
