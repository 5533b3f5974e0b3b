/** Gradients against closed forms and central differences, all in float64. */

import { expect, test } from "vitest";
import { liveTensors } from "../../src/engine/device.js";
import { conv2d, linalgSvdvals, linear } from "../../src/engine/ops.generated.js";
import { keep, scope } from "../../src/engine/scope.js";
import { grad, noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import { EngineError } from "../../src/errors.js";
import { expectClose } from "../support/close.js";
import { finiteDifferences } from "../support/finite-differences.js";
import { formulaTensor } from "../support/formula-weights.js";

const leaf = (values: number | number[]): Tensor => tensor(values, { dtype: "float64" }).requiresGrad_();
const gradientOf = (x: Tensor): number[] | null => x.grad?.toNumbers() ?? null;
const values = (...shape: number[]): Tensor => formulaTensor(`x ${shape}`, shape, { dtype: "float64" });

test("backward accumulates gradients in the leaves", () => {
  scope(() => {
    const x = leaf([1, 2, 3]);
    expect(gradientOf(x)).toBeNull();
    x.square().sum().backward();
    expect(gradientOf(x)).toEqual([2, 4, 6]);
    x.sum().backward();
    expect(gradientOf(x)).toEqual([3, 5, 7]);
    x.grad = null;
    expect(gradientOf(x)).toBeNull();
    x.mul(2).backward({ gradient: tensor([1, 0, -1], { dtype: "float64" }) });
    expect(gradientOf(x)).toEqual([2, 0, -2]);
  });
});

test(".grad can be set, and returns the same tensor", () => {
  scope(() => {
    const x = leaf([1, 2]);
    const gradient = tensor([5, 6], { dtype: "float64" });
    x.grad = gradient;
    gradient.mul_(2);
    expect(gradientOf(x)).toEqual([10, 12]);
    for (const wrong of [tensor([1, 2]), tensor([1], { dtype: "float64" })]) {
      expect(() => {
        x.grad = wrong;
      }).toThrow("cannot be the gradient of float64[2]");
    }
    expect(gradientOf(x)).toEqual([10, 12]);
  });
});

test("a gradient outlives the scope of the backward pass, and is not counted as a live tensor", () => {
  const x = keep(leaf([1, 2]));
  const before = liveTensors();
  scope(() => x.square().sum().backward());
  expect(liveTensors()).toBe(before);
  scope(() => expect(gradientOf(x)).toEqual([2, 4]));
  x.dispose();
});

test("grad returns gradients without changing .grad, and null for unused inputs if allowed", () => {
  scope(() => {
    const [x, y, unused] = [leaf([1, 2]), leaf([3, 4]), leaf([5])];
    const z = x.mul(y).sum();
    const gradients = grad(z, [x, y, unused], { allowUnused: true, retainGraph: true });
    expect(gradients.map((g) => g?.toNumbers() ?? null)).toEqual([[3, 4], [1, 2], null]);
    expect([x.grad, y.grad]).toEqual([null, null]);
    expect(() => grad(z, [x, unused])).toThrow(EngineError);
  });
});

test("grad accepts several outputs, each with its gradient", () => {
  scope(() => {
    const x = leaf([1, 2]);
    const gradients = [tensor([1, 1], { dtype: "float64" }), tensor([10, 0], { dtype: "float64" })];
    const [g] = grad([x.square(), x.mul(3)], [x], { gradients });
    expect(g.toNumbers()).toEqual([32, 4]);
    expect(() => grad([x.square(), x.mul(3)], [x], { gradients: gradients.slice(1) })).toThrow(
      "expected 2 gradients, one an output, got 1",
    );
  });
});

test("a graph is freed by its backward pass unless it is retained", () => {
  scope(() => {
    const x = leaf([1, 2]);
    const y = x.square().sum();
    y.backward({ retainGraph: true });
    y.backward();
    expect(gradientOf(x)).toEqual([4, 8]);
    expect(() => y.backward()).toThrow("backward: Trying to backward through the graph a second time");
  });
});

test("createGraph gives gradients that can be differentiated: x³ twice and three times", () => {
  scope(() => {
    const x = leaf([2, -3]);
    const [first] = grad(x.pow(3).sum(), [x], { createGraph: true });
    const [second] = grad(first.sum(), [x], { createGraph: true });
    const [third] = grad(second.sum(), [x]);
    expect(first.toNumbers()).toEqual([12, 27]);
    expect(second.toNumbers()).toEqual([12, -18]);
    expect(third.toNumbers()).toEqual([6, 6]);
  });
});

test("a penalty on a gradient has the gradient of its closed form, as IRM and Fishr need", () => {
  scope(() => {
    // f(w) = Σ (w x − y)², so f′ = 2 Σ x (w x − y), and d/dw (f′)² = 2 f′ · 2 Σ x².
    const [x, y] = [tensor([1, 2, -1], { dtype: "float64" }), tensor([3, 0, 1], { dtype: "float64" })];
    const w = leaf(0.5);
    const [slope] = grad(w.mul(x).sub(y).square().sum(), [w], { createGraph: true });
    slope.square().backward();
    const expected = 2 * (1 * (0.5 - 3) + 2 * (1 - 0) - 1 * (-0.5 - 1));
    expect(slope.item()).toBeCloseTo(expected, 12);
    expect(w.grad?.item()).toBeCloseTo(2 * expected * 2 * 6, 12);
  });
});

test("noGrad records nothing, can be nested, and ends with its body even if that throws", () => {
  scope(() => {
    const x = leaf([1]);
    const inside = noGrad(() => {
      noGrad(() => undefined);
      return x.mul(2);
    });
    expect([inside.requiresGrad, inside.isLeaf, x.mul(2).requiresGrad]).toEqual([false, true, true]);
    expect(() =>
      noGrad(() => {
        throw new Error("inside");
      }),
    ).toThrow("inside");
    expect(x.mul(2).requiresGrad).toBe(true);
    expect(() => inside.backward()).toThrow(EngineError);
  });
});

test("detach cuts the graph and shares the memory", () => {
  scope(() => {
    const x = leaf([3]);
    const y = x.mul(2);
    const cut = y.detach();
    expect([cut.requiresGrad, cut.sharesMemoryWith(y)]).toEqual([false, true]);
    x.mul(cut).sum().backward();
    expect(x.grad?.item()).toBe(6);
  });
});

test("requiresGrad_ accepts only floating-point leaves", () => {
  scope(() => {
    const x = tensor([1]);
    expect([x.requiresGrad, x.isLeaf]).toEqual([false, true]);
    expect(x.requiresGrad_()).toBe(x);
    const y = x.mul(2);
    expect([y.requiresGrad, y.isLeaf]).toEqual([true, false]);
    expect(() => y.requiresGrad_(false)).toThrow("only a leaf can stop requiring gradients; use detach()");
    expect(x.requiresGrad_(false).requiresGrad).toBe(false);
    expect(() => tensor([1], { dtype: "int64" }).requiresGrad_()).toThrow("this is int64[1]");
    expect(() => tensor([1]).requiresGrad_().add_(1)).toThrow("a leaf Variable that requires grad");
  });
});

test("retainGrad keeps the gradient of a tensor that is not a leaf", () => {
  scope(() => {
    const x = leaf([1, 2]);
    const kept = x.mul(2).retainGrad();
    const dropped = kept.mul(3);
    dropped.sum().backward();
    expect(gradientOf(kept)).toEqual([3, 3]);
    expect(gradientOf(dropped)).toBeNull();
    expect(() => tensor([1]).retainGrad()).toThrow("float32[1] does not require gradients");
  });
});

test("backward of more than one number needs a gradient of its shape", () => {
  scope(() => {
    const x = leaf([1, 2]);
    expect(() => x.mul(2).backward()).toThrow("grad can be implicitly created only for scalar outputs");
    expect(() => x.mul(2).backward({ gradient: tensor([1], { dtype: "float64" }) })).toThrow(EngineError);
    expect(() => tensor([1]).backward()).toThrow("does not require grad");
  });
});

test("changing a tensor in place after it was saved for the backward pass is an error", () => {
  scope(() => {
    const x = leaf([1, 2]).mul(1);
    const y = x.square().sum();
    x.add_(1);
    expect(() => y.backward()).toThrow("modified by an inplace operation");
  });
});

/** Functions to one number, of the operators that training is made of. */
const FUNCTIONS: Record<string, [(x: Tensor) => Tensor, number[]]> = {
  "a two-layer network with cross-entropy": [
    (x) =>
      linear(linear(x, values(5, 4), values(5)).relu(), values(3, 5), values(3))
        .logSoftmax(1)
        .select(1, 0)
        .mean()
        .neg(),
    [3, 4],
  ],
  "a convolution, normalised over the batch": [
    (x) => {
      const y = conv2d(x, values(3, 2, 3, 3), null, 2, 1);
      const centred = y.sub(y.mean([0, 2, 3], true));
      return centred
        .mul(centred.square().mean([0, 2, 3], true).add(1e-3).rsqrt())
        .mul(values(3, 1, 1))
        .square()
        .sum();
    },
    [2, 2, 5, 4],
  ],
  "singular values": [(x) => linalgSvdvals(x).sum(), [4, 3]],
  "a matrix product, norms and a quotient": [(x) => x.matmul(x.t()).norm().div(x.norm().add(1)), [3, 2]],
  "views, gathers and sums": [
    (x) => x.t().slice(0, 1).flatten().take([0, 2, 2]).mul(x.sum(0).select(0, 1)).exp().sum(),
    [3, 4],
  ],
};

test.for(Object.keys(FUNCTIONS))("the gradient of %s equals central differences", (name) => {
  scope(() => {
    const [f, shape] = FUNCTIONS[name];
    const x = values(...shape).requiresGrad_();
    f(x).backward();
    expectClose(x.grad!.flatten(), finiteDifferences(f, x), { rtol: 1e-6, atol: 1e-8, what: name });
  });
});

test.for(Object.keys(FUNCTIONS))(
  "the second gradient of %s, through the norm of the first, equals central differences",
  (name) => {
    scope(() => {
      const [f, shape] = FUNCTIONS[name];
      const penalty = (y: Tensor): Tensor => grad(f(y.requiresGrad_()), [y], { createGraph: true })[0].square().sum();
      const x = values(...shape).requiresGrad_();
      penalty(x).backward();
      expectClose(x.grad!.flatten(), finiteDifferences(penalty, x), { rtol: 1e-5, atol: 1e-7, what: name });
    });
  },
);
