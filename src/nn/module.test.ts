import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { liveTensors } from "../engine/device.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { BatchNorm1d } from "./batch-norm.js";
import { Conv2d } from "./conv.js";
import { Dropout } from "./dropout.js";
import { Linear } from "./linear.js";
import { Module, Parameter, Sequential } from "./module.js";

class Net extends Module {
  readonly body = new Sequential(new Linear(3, 4), new BatchNorm1d(4), new Dropout(0.5));
  readonly head = new Linear(4, 2, { bias: false });

  forward(x: Tensor): Tensor {
    return this.head.forward(this.body.forward(x));
  }
}

test("parameters and buffers are found under dotted names, in the order they were assigned", () => {
  using net = new Net();
  expect([...net.stateDict().keys()]).toEqual([
    "body.0.weight",
    "body.0.bias",
    "body.1.weight",
    "body.1.bias",
    "body.1.running_mean",
    "body.1.running_var",
    "body.1.num_batches_tracked",
    "head.weight",
  ]);
  expect(net.parameters()).toHaveLength(5);
  expect(net.parameters().every((parameter) => parameter.requiresGrad)).toBe(true);
});

test("a layer used twice has its parameters twice by name and once in parameters()", () => {
  class Tied extends Module {
    readonly first = new Linear(2, 2);
    readonly second = this.first;
  }
  using tied = new Tied();
  expect([...tied.stateDict().keys()]).toEqual(["first.weight", "first.bias", "second.weight", "second.bias"]);
  expect(tied.parameters()).toHaveLength(2);
});

test("loadStateDict reports every mismatch in one error and changes nothing", () => {
  scope(() => {
    using net = new Net().initialize(new Random(1));
    const before = net.head.weight.toNumbers();
    const state = new Map<string, Tensor>(net.stateDict());
    state.delete("body.0.bias");
    state.set("body.1.weight", tensor([1, 2]));
    state.set("head.bias", tensor([0, 0]));
    state.set("head.weight", net.head.weight.add(1));
    expect(() => net.loadStateDict(state, { from: "a.pth" })).toThrow(
      new UsageError(
        "loading weights from a.pth into Net: missing body.0.bias; unexpected head.bias; " +
          "wrong shape of body.1.weight: expected [4], got [2]",
      ),
    );
    expect(net.head.weight.toNumbers()).toEqual(before);
  });
});

test("loadStateDict skips the given names and copies the others, converting dtypes", () => {
  scope(() => {
    using net = new Net().initialize(new Random(1));
    const state = new Map([
      ["head.weight", tensor([1, 2, 3, 4, 5, 6, 7, 8], { dtype: "float64" }).view(2, 4)],
      ["fc.weight", tensor([1])],
    ]);
    const [ignoreMissing, ignoreUnexpected] = [() => true, (key: string) => key.startsWith("fc.")];
    net.loadStateDict(state, { ignoreMissing, ignoreUnexpected });
    expect(net.head.weight.toNumbers()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(net.head.weight.dtype).toBe("float32");
    expect(net.head.weight.requiresGrad).toBe(true);
  });
});

test("a layer's starting values depend on the seed and its name, not on the layers before it", () => {
  scope(() => {
    using small = new Sequential(new Linear(3, 4)).initialize(new Random(7));
    using large = new Sequential(new Linear(3, 4), new Linear(4, 5)).initialize(new Random(7));
    using other = new Sequential(new Linear(3, 4)).initialize(new Random(8));
    const weight = (net: Module) => net.stateDict().get("0.weight")!.toNumbers();
    expect(weight(large)).toEqual(weight(small));
    expect(weight(other)).not.toEqual(weight(small));
  });
});

test("linear and convolution layers start uniform within ±1/√fan-in, biases too", () => {
  scope(() => {
    using linear = new Linear(25, 400).initialize(new Random(1));
    using conv = new Conv2d(8, 200, { kernel: 5, groups: 2 }).initialize(new Random(2));
    for (const [drawn, bound] of [
      [linear.weight, 1 / 5],
      [linear.bias!, 1 / 5],
      [conv.weight, 1 / 10], // 4 inputs per group · 5 · 5
      [conv.bias!, 1 / 10],
    ] as const) {
      const values = drawn.toNumbers();
      const largest = Math.max(...values.map(Math.abs));
      expect(largest).toBeLessThanOrEqual(bound);
      expect(largest).toBeGreaterThan(0.95 * bound);
      const variance = values.reduce((sum, value) => sum + value * value, 0) / values.length;
      // The variance of U(±b) is b²/3. With 200 or more values, 20 % is more than four standard deviations.
      expect(Math.abs(variance / (bound ** 2 / 3) - 1)).toBeLessThan(0.2);
    }
  });
});

test("He's initialisation by fan-out has variance 2/(outputs · kernel²) and no bias", () => {
  scope(() => {
    using conv = new Conv2d(32, 64, { kernel: 3, init: "he-fan-out" }).initialize(new Random(3));
    expect(conv.weight.variance().item() / (2 / (64 * 9))).toBeCloseTo(1, 1);
    expect(conv.weight.mean().item()).toBeCloseTo(0, 2);
    expect(conv.bias!.norm().item()).toBe(0);
  });
});

test("to() changes the dtype of floating tensors only and the layout of 4-D ones only", () => {
  using net = new Sequential(new Conv2d(3, 4, { kernel: 3 }), new BatchNorm1d(4)).initialize(new Random(1));
  net.to({ dtype: "float64", memoryFormat: "channels_last" });
  const state = net.stateDict();
  expect(state.get("0.weight")!.dtype).toBe("float64");
  expect(state.get("0.weight")!.isChannelsLast).toBe(true);
  expect(state.get("1.num_batches_tracked")!.dtype).toBe("int64");
  expect(state.get("0.weight")).toBeInstanceOf(Parameter);
});

test("train and eval reach every module below", () => {
  using net = new Net();
  expect([...net.modules()].map(([, module]) => module.training)).toEqual([true, true, true, true, true, true]);
  net.eval();
  expect([...net.modules()].some(([, module]) => module.training)).toBe(false);
});

test("a tensor can belong to one module only", () => {
  using linear = new Linear(2, 2);
  expect(() => new Parameter(linear.weight)).toThrow("belongs to a module already");
});

test("a module made outside any scope keeps its memory through garbage collection, and dispose() frees it all", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const before = liveTensors();
  const net = new Net().initialize(new Random(1));
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10)); // finalizers run between turns of the event loop
  }
  expect(net.stateDict().get("body.0.weight")!.toNumbers()).toHaveLength(12);
  net.dispose();
  expect(liveTensors()).toBe(before);
});
