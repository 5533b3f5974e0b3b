import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { LayerNorm } from "./layer-norm.js";
import { LayerScale } from "./layer-scale.js";

test("layer norm makes each row's mean 0 and variance 1, then scales and shifts each channel", () => {
  scope(() => {
    using norm = new LayerNorm(2, { eps: 0 });
    norm.weight.requiresGrad_(false).copy_(tensor([2, 3]));
    norm.bias.requiresGrad_(false).copy_(tensor([10, 20]));
    // The normalized rows of (1, 3) and (5, −5) are (−1, 1) and (1, −1).
    expect(
      norm
        .forward(
          tensor([
            [1, 3],
            [5, -5],
          ]),
        )
        .toArray(),
    ).toEqual([
      [8, 23],
      [12, 17],
    ]);
    using wide = new LayerNorm(2, { eps: 3 });
    wide.weight.requiresGrad_(false).fill_(1);
    wide.bias.requiresGrad_(false).zero_();
    expect(wide.forward(tensor([[1, 3]])).toArray()).toEqual([[-0.5, 0.5]]); // √(1 + 3) = 2
    const half = wide.forward(tensor([[1, 3]], { dtype: "bfloat16" }));
    expect([half.dtype, half.toNumbers()]).toEqual(["bfloat16", [-0.5, 0.5]]);
  });
});

test("layer scale multiplies each channel, and keeps a small branch of bfloat16 numbers in float32", () => {
  scope(() => {
    using scale = new LayerScale(2);
    scale.gamma.requiresGrad_(false).copy_(tensor([2, 0.5]));
    const y = scale.forward(tensor([[1, 3]], { dtype: "bfloat16" }));
    expect([y.dtype, y.toArray()]).toEqual(["float32", [[2, 1.5]]]);
  });
});
