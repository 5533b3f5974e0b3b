import { expect, test } from "vitest";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { SGD } from "./index.js";

const leaf = (value: number, gradient: number): Tensor => {
  const x = tensor(value, { dtype: "float64" }).requiresGrad_();
  x.grad = tensor(gradient, { dtype: "float64" });
  return x;
};

test("plain descent on ½x² shrinks x by 1 − lr a step and remembers nothing", () => {
  scope(() => {
    const x = tensor(5, { dtype: "float64" }).requiresGrad_();
    using optimizer = new SGD([x], { lr: 0.1 });
    for (let i = 0; i < 7; i++) {
      optimizer.zeroGrad();
      x.square().mul(0.5).backward();
      optimizer.step();
    }
    expect(x.item()).toBeCloseTo(5 * 0.9 ** 7, 14);
    expect(optimizer.state().tensors.size).toBe(0);
  });
});

test("momentum adds up a constant gradient as a geometric series", () => {
  scope(() => {
    const x = leaf(0, 1);
    using optimizer = new SGD([x], { lr: 1, momentum: 0.5 });
    // The directions are 1, 1.5 and 1.75, because the first buffer equals the gradient.
    const seen = [1, 2, 3].map(() => {
      optimizer.step();
      return x.item();
    });
    expect(seen).toEqual([-1, -2.5, -4.25]);
  });
});

test("Nesterov's momentum looks ahead by momentum times the buffer", () => {
  scope(() => {
    const x = leaf(0, 1);
    using optimizer = new SGD([x], { lr: 1, momentum: 0.5, nesterov: true });
    // g + μb: 1 + 0.5, then 1 + 0.5·1.5.
    optimizer.step();
    expect(x.item()).toBe(-1.5);
    optimizer.step();
    expect(x.item()).toBe(-3.25);
  });
});

test("weight decay adds λ times the parameter to the gradient and leaves the gradient alone", () => {
  scope(() => {
    const x = leaf(4, 1);
    using optimizer = new SGD([x], { lr: 0.5, weightDecay: 0.25, momentum: 0.9 });
    optimizer.step();
    expect(x.item()).toBe(4 - 0.5 * (1 + 1));
    expect(x.grad?.item()).toBe(1);
  });
});

test("the momentum buffer is a copy: the gradient may be changed after the step", () => {
  scope(() => {
    const x = leaf(0, 1);
    using optimizer = new SGD([x], { lr: 1, momentum: 1 });
    optimizer.step();
    x.grad?.fill_(0);
    optimizer.step();
    expect(x.item()).toBe(-2);
  });
});

test("the multi-tensor path, for GPUs, gives the same bits as the path for the CPU", () => {
  class MultiTensor extends SGD {
    protected override updateOnHost(...args: Parameters<SGD["updateOnDevice"]>): void {
      this.updateOnDevice(...args);
    }
  }
  scope(() => {
    for (const settings of [
      {},
      { weightDecay: 0.1 },
      { momentum: 0.9 },
      { momentum: 0.9, nesterov: true, weightDecay: 0.1 },
    ]) {
      const [one, many] = [SGD, MultiTensor].map((Kind) => {
        const parameters = [1, 2, 3].map((i) => formulaTensor(`p${i}`, [i, 4]).requiresGrad_());
        using optimizer = new Kind(parameters, { lr: 0.1, ...settings });
        for (let step = 0; step < 4; step++) {
          parameters.forEach((p, i) => {
            p.grad = i === 1 && step === 0 ? null : formulaTensor(`g${i}${step}`, p.shape).add(p.detach());
          });
          optimizer.step();
        }
        return parameters.map((p) => p.toNumbers());
      });
      expect(many).toEqual(one);
    }
  });
});
