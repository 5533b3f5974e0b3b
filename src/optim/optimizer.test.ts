import { afterEach, expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { liveTensors } from "../engine/device.js";
import { Scope, scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { defaultsOf } from "../options.js";
import { Adam, AdamW, optimizerNamed, optimizers, SGD } from "./index.js";

const made: Tensor[] = [];

/** Creates a leaf with this value and gradient. */
function leaf(value: number[], gradient: number[] | null): Tensor {
  const x = tensor(value, { dtype: "float64" }).requiresGrad_();
  made.push(x);
  if (gradient) {
    using value = tensor(gradient, { dtype: "float64" });
    x.grad = value;
  }
  return x;
}

afterEach(() => {
  for (const x of made.splice(0)) x.dispose();
});

test("a parameter without a gradient does not change and has no state", () => {
  const still = leaf([1, 2], null);
  const moved = leaf([1, 2], [1, -1]);
  using optimizer = new AdamW([still, moved], { lr: 0.1, weightDecay: 0.5 });
  optimizer.step();
  expect(still.toNumbers()).toEqual([1, 2]);
  expect(moved.toNumbers()).not.toEqual([1, 2]);
  expect([...optimizer.state().tensors.keys()]).toEqual(["0.1.exp_avg", "0.1.exp_avg_sq"]);
});

test("a group's settings have precedence over the optimizer's", () => {
  const slow = leaf([0], [1]);
  const fast = leaf([0], [1]);
  using optimizer = new SGD([{ parameters: [slow] }, { parameters: [fast], lr: 1 }], { lr: 0.25 });
  optimizer.step();
  expect([slow.item(), fast.item()]).toEqual([-0.25, -1]);
  expect(optimizer.groups.map(({ lr }) => lr)).toEqual([0.25, 1]);
});

test("setting the learning rate sets it for every group, from the next step on", () => {
  const a = leaf([0], [1]);
  const b = leaf([0], [1]);
  using optimizer = new SGD([{ parameters: [a] }, { parameters: [b], lr: 1 }], { lr: 0.25 });
  optimizer.learningRate = 0.5;
  optimizer.step();
  expect(optimizer.learningRate).toBe(0.5);
  expect([a.item(), b.item()]).toEqual([-0.5, -0.5]);
});

test("parameters can come from any iterable, including a generator", () => {
  const a = leaf([0], [1]);
  using optimizer = new SGD(
    (function* () {
      yield a;
    })(),
    { lr: 1 },
  );
  optimizer.step();
  expect(a.item()).toBe(-1);
});

test("zeroGrad forgets the gradients, so that a step moves nothing", () => {
  const x = leaf([3], [1]);
  using optimizer = new SGD([x], { lr: 1 });
  optimizer.zeroGrad();
  expect(x.grad).toBeNull();
  optimizer.step();
  expect(x.item()).toBe(3);
});

test("a step records no graph, and leaves gradients and grad mode as they were", () => {
  const x = leaf([3], [1]);
  using optimizer = new Adam([x], { lr: 0.1, weightDecay: 0.1 });
  optimizer.step();
  scope(() => {
    expect(x.isLeaf).toBe(true);
    expect(x.grad?.item()).toBe(1);
    expect(x.mul(2).requiresGrad).toBe(true);
  });
});

test("what is remembered outlives the scope of the step and ends with dispose", () => {
  const before = liveTensors();
  const x = leaf([1, 2], [1, 1]);
  const inScope = liveTensors();
  const optimizer = new Adam([x]);
  scope(() => optimizer.step());
  scope(() => optimizer.step());
  expect(liveTensors()).toBe(inScope + 2);
  expect(optimizer.state().tensors.get("0.0.exp_avg")?.toNumbers()[0]).toBeCloseTo(0.19, 12);
  optimizer.dispose();
  expect(liveTensors()).toBe(inScope);
  expect(inScope).toBe(before + 1);
});

test("a step that fails leaves no tensors behind", () => {
  const x = leaf([1, 2], [1, 1]);
  using optimizer = new Adam([x]);
  optimizer.step();
  const count = liveTensors();
  optimizer.groups[0].lr = Number.NaN;
  expect(() => optimizer.step()).toThrow(UsageError);
  optimizer.groups[0].lr = 0.1;
  optimizer.state().tensors.get("0.0.exp_avg_sq")?.dispose();
  expect(() => optimizer.step()).toThrow("freed");
  expect(liveTensors()).toBe(count - 1);
});

test("every optimizer walks down a bowl", () => {
  for (const id of Object.keys(optimizers)) {
    const x = leaf([1, -2, 3], null);
    const { make, options } = optimizerNamed(id);
    const settings = { ...defaultsOf(options), lr: 0.05, weightDecay: 0 };
    using optimizer = make([{ parameters: [x] }], settings);
    for (let i = 0; i < 300; i++) {
      scope(() => {
        optimizer.zeroGrad();
        x.square().sum().backward();
        optimizer.step();
      });
    }
    expect(Math.max(...x.toNumbers().map(Math.abs)), id).toBeLessThan(1e-2);
  }
});

test.for<[string, () => unknown, string]>([
  ["no parameters", () => new Adam([]), "there are no parameters"],
  ["a parameter twice", () => twice((x) => new Adam([x, x])), "given twice"],
  [
    "a parameter in two groups",
    () => twice((x) => new Adam([{ parameters: [x] }, { parameters: [x] }])),
    "given twice",
  ],
  ["a mixture", () => twice((x) => new Adam([x, { parameters: [x] }] as never)), "got a mixture"],
  ["a computed tensor", () => twice((x) => new Adam([x.mul(2)])), "float64[1] is computed from others"],
  ["a negative rate", () => twice((x) => new Adam([x], { lr: -1 })), "lr should be"],
  ["no rate", () => twice((x) => new SGD([x], {} as { lr: number })), "lr should be a number from 0 to"],
  ["a negative decay", () => twice((x) => new Adam([x], { weightDecay: -1 })), "weightDecay should be"],
  ["a beta of 1", () => twice((x) => new Adam([x], { betas: [0.9, 1] })), "betas should be two numbers"],
  ["one beta", () => twice((x) => new Adam([x], { betas: [0.9] as never })), "betas should be two numbers"],
  ["a negative eps", () => twice((x) => new Adam([x], { eps: -1 })), "eps should not be negative"],
  ["nesterov alone", () => twice((x) => new SGD([x], { lr: 1, nesterov: true })), "nesterov needs a momentum"],
  ["PyTorch's name", () => twice((x) => new Adam([x], { weight_decay: 1 } as never)), 'did you mean "weightDecay"?'],
  ["a group's typo", () => twice((x) => new Adam([{ parameters: [x], rl: 1 } as never])), 'unknown setting "rl"'],
  ["an unknown optimizer", () => optimizerNamed("adma"), 'did you mean "adam"?'],
])("%s is refused", ([, build, message]) => {
  using room = new Scope();
  const run = () => room.run(build);
  expect(run).toThrow(UsageError);
  expect(run).toThrow(message);
});

function twice(build: (x: Tensor) => unknown): unknown {
  return build(leaf([1], null));
}

test("a state that does not fit is refused in one error, and nothing changes", () => {
  scope(() => {
    const x = leaf([1, 2], [1, 1]);
    using optimizer = new Adam([x], { lr: 0.1 });
    optimizer.step();
    const after = x.toNumbers();
    const wrong = {
      tensors: new Map([
        ["0.0.exp_avg", tensor([1, 2, 3], { dtype: "float64" })],
        ["1.0.exp_avg", tensor([1, 2])],
      ]),
      numbers: { "0.lr": 7, "0.0.steps": 1.5 },
    };
    expect(() => optimizer.loadState(wrong)).toThrow(
      "loading the state of Adam: 0.weightDecay is missing or negative; 0.0.exp_avg_sq is missing; " +
        "0.0.steps is missing or no count; 0.0.exp_avg is float64[3], its parameter float64[2]; 1.0.exp_avg is unexpected",
    );
    expect(optimizer.learningRate).toBe(0.1);
    expect(optimizer.state().numbers["0.0.steps"]).toBe(1);
    expect(x.toNumbers()).toEqual(after);
  });
});

test("a state from before the first gradient puts a parameter back to having none", () => {
  scope(() => {
    const x = leaf([1, 2], [1, 1]);
    using optimizer = new Adam([x], { lr: 0.1 });
    const fresh = optimizer.state();
    optimizer.step();
    optimizer.loadState(fresh);
    expect(optimizer.state().tensors.size).toBe(0);
    noGrad(() => x.copy_(tensor([1, 2], { dtype: "float64" })));
    optimizer.step();
    // The length of the first step is the learning rate.
    expect(x.toNumbers()[0]).toBeCloseTo(0.9, 7);
  });
});

test("remembered tensors lie in memory as their parameter does", () => {
  scope(() => {
    const x = tensor(new Float32Array(48), { shape: [2, 3, 2, 4] })
      .to({ memoryFormat: "channels_last" })
      .requiresGrad_();
    x.square().sum().backward();
    using optimizer = new Adam([x]);
    optimizer.step();
    expect(optimizer.state().tensors.get("0.0.exp_avg")?.strides).toEqual(x.strides);
  });
});

/** Runs some steps with the given gradients and returns the values after each step. */
function walked(
  optimizer: (x: Tensor) => Adam | SGD,
  gradients: number[][],
  each?: (step: number, of: Adam | SGD) => void,
) {
  const x = leaf([1, -2], null);
  using made = optimizer(x);
  return gradients.map((gradient, step) => {
    x.grad = tensor(gradient, { dtype: "float64" });
    each?.(step, made);
    made.step();
    return x.toNumbers();
  });
}

test("a factor of a schedule is as good as that learning rate, for every kind of step", () => {
  const gradients = [
    [0.3, -0.1],
    [0.2, 0.4],
    [-0.5, 0.1],
  ];
  const factors = [0.25, 1, 0.5];
  for (const Kind of [Adam, AdamW, SGD]) {
    const make = (x: Tensor) => new Kind([x], { lr: 0.1, weightDecay: 0.2, ...(Kind === SGD && { momentum: 0.9 }) });
    const byFactor = walked(make, gradients, (step, optimizer) => {
      optimizer.factor = factors[step];
    });
    const byRate = walked(make, gradients, (step, optimizer) => {
      optimizer.learningRate = 0.1 * factors[step];
    });
    expect(byFactor).toEqual(byRate);
  }
});

test("gradients above the largest norm are scaled down to it, and others are left alone", () => {
  // torch.nn.utils.clip_grad_norm_ of [3, 4] to a norm of 1 multiplies by 1/(5 + 1e-6).
  const clipped = (gradient: number[]) =>
    walked((x) => Object.assign(new SGD([x], { lr: 1 }), { clipNorm: 1 }), [gradient])[0];
  const [a, b] = clipped([3, 4]);
  expect(a).toBeCloseTo(1 - 3 / 5.000001, 12);
  expect(b).toBeCloseTo(-2 - 4 / 5.000001, 12);
  expect(clipped([0.3, 0.4])).toEqual([0.7, -2.4]);
});

test("on a GPU a schedule keeps a fraction of each step, and the state is that of the whole step", () => {
  scope(() => {
    const run = (share: number | null): { moved: number[]; momentum: number[] } => {
      const weights = [tensor([1, 2]), tensor([[3]])].map((each) => each.requiresGrad_());
      for (const weight of weights) weight.grad = weight.detach().mul(2);
      using optimizer = new SGD(weights, { lr: 0.1, momentum: 0.9 });
      const [group] = optimizer.groups;
      const part = { entries: [...group.entries], gradients: weights.map((weight) => weight.grad!) };
      // The part of a step that runs on a GPU, here on the CPU.
      const inner = optimizer as unknown as Record<string, (...args: unknown[]) => void>;
      noGrad(() => {
        if (share === null) inner.updateOnDevice(group, part);
        else inner.updateInPart(group, part, tensor(share, { dtype: "float32" }));
      });
      const momentum = [...optimizer.state().tensors.values()].flatMap((each) => each.toNumbers());
      return { moved: weights.flatMap((weight) => weight.detach().toNumbers()), momentum };
    };
    const [whole, quarter] = [run(null), run(0.25)];
    expect(quarter.momentum).toEqual(whole.momentum);
    const start = [1, 2, 3];
    expectClose(
      quarter.moved,
      start.map((value, i) => value + 0.25 * (whole.moved[i] - value)),
      { rtol: 1e-6 },
    );
  });
});
