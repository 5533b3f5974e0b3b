import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { grad, noGrad, tensor } from "../engine/tensor.js";
import { ProbeAndNeighbours, storedNeighbours, votingNeighbours } from "./probe-and-neighbours.js";

/** Four stored pictures at 0, 60, 90 and 180 degrees, of the classes 0, 1, 1 and 0. */
function made(): ProbeAndNeighbours {
  const layer = new ProbeAndNeighbours(2, 2, 4);
  noGrad(() => {
    const half = Math.sqrt(3) / 2;
    layer.neighbours.copy_(
      tensor([
        [1, 0],
        [0.5, half],
        [0, 1],
        [-1, 0],
      ]),
    );
    layer.labels.copy_(
      tensor([
        [1, 0],
        [0, 1],
        [0, 1],
        [1, 0],
      ]),
    );
    layer.weight.zero_();
    layer.bias!.copy_(tensor([Math.log(3), 0])); // softmax: 3/4 and 1/4
  });
  return layer;
}

test("half of the probability is the probe's, and half is the vote of the nearest pictures", () =>
  scope(() => {
    using layer = made();
    // Three vote. At 0 degrees the cosines are 1, 1/2, 0 and −1; less the fourth: 2 for class 0, 1.5 + 1 for class 1.
    const p = layer
      .forward(tensor([[5, 0]]))
      .exp()
      .toNumbers();
    expect(p[0]).toBeCloseTo((3 / 4 + 2 / 4.5) / 2, 6);
    expect(p[1]).toBeCloseTo((1 / 4 + 2.5 / 4.5) / 2, 6);
  }));

test("features of zeros and stored pictures at equal distance leave the probe's prediction", () =>
  scope(() => {
    using layer = made();
    const [a, b] = layer
      .forward(tensor([[0, 0]]))
      .softmax(1)
      .toNumbers();
    expect([a, b].map((value) => Number(value.toFixed(6)))).toEqual([0.75, 0.25]);
  }));

test("the output has a gradient, which heat maps need", () =>
  scope(() => {
    using layer = made();
    const x = tensor([[2, 1]]).requiresGrad_();
    const [gradient] = grad(layer.forward(x).narrow(1, 0, 1).sum(), [x]);
    const step = 1e-3;
    const at = (a: number): number => layer.forward(tensor([[a, 1]])).toNumbers()[0];
    expect(gradient.toNumbers()[0]).toBeCloseTo((at(2 + step) - at(2 - step)) / (2 * step), 2);
  }));

test("as many pictures vote as a class has on average, 3 to 20, and the stored ones are limited", () => {
  expect([votingNeighbours(1000, 10), votingNeighbours(100, 10), votingNeighbours(6, 6)]).toEqual([20, 10, 3]);
  expect([votingNeighbours(2, 2), votingNeighbours(1, 1)]).toEqual([1, 0]);
  expect([storedNeighbours(500, 1280), storedNeighbours(50_000, 1280), storedNeighbours(50_000, 4096)]).toEqual([
    500, 10_000, 4096,
  ]);
});
