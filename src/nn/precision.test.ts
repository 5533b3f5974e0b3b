import { expect, test } from "vitest";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { ReLU } from "./activation.js";
import { BatchNorm2d } from "./batch-norm.js";
import { Conv2d } from "./conv.js";
import { GroupNorm } from "./group-norm.js";
import { Linear } from "./linear.js";
import { Sequential } from "./module.js";
import { GlobalAvgPool2d } from "./pooling.js";
import { withPrecision } from "./precision.js";

test("in bf16 products run in bfloat16, means in float32, and gradients arrive in float32, near float32's", () => {
  scope(() => {
    const maps = new Sequential(
      new Conv2d(3, 8, { kernel: 3, padding: 1, bias: false }),
      new BatchNorm2d(8),
      new ReLU({ inPlace: true }),
      new Conv2d(8, 8, { kernel: 3, padding: 1, groups: 8 }),
      new GroupNorm(2, 8),
    );
    using net = fillByFormula(new Sequential(maps, new GlobalAvgPool2d(), new Linear(8, 4)));
    const x = formulaTensor("x", [4, 3, 6, 6], { scale: 2 });
    const run = (precision: "float32" | "bf16") =>
      withPrecision(precision, () => {
        fillByFormula(net).zeroGrad();
        const map = maps.forward(x);
        const y = net.layers[2].forward(net.layers[1].forward(map));
        y.backward({ gradient: formulaTensor("g", y.shape).toDType(y.dtype) });
        return { map, y, gradients: net.parameters().map((parameter) => parameter.grad!) };
      });
    const [low, full] = [run("bf16"), run("float32")];
    expect(low.map.dtype).toBe("bfloat16");
    expect(low.y.dtype).toBe("bfloat16");
    // The relative error of a bfloat16 number is 2⁻⁹. After five layers, two of which subtract a mean, it grows to at
    // most 2⁻⁴ of the norm of a gradient here.
    const near = (a: Tensor, b: Tensor) =>
      expect(a.toDType("float32").sub(b).norm().item() / b.norm().item()).toBeLessThan(1 / 16);
    near(low.y, full.y);
    for (const [i, gradient] of low.gradients.entries()) {
      expect(gradient.dtype).toBe("float32");
      near(gradient, full.gradients[i]);
    }
  });
});

test("the precision is put back when the body throws", () => {
  scope(() => {
    expect(() =>
      withPrecision("bf16", () => {
        throw new Error("stop");
      }),
    ).toThrow("stop");
    using linear = fillByFormula(new Linear(2, 2));
    expect(linear.forward(formulaTensor("x", [1, 2])).dtype).toBe("float32");
  });
});

test("withPrecision refuses an async body, which would end in another precision", () => {
  expect(() => withPrecision("bf16", async () => 1)).toThrow("withPrecision: the body is async");
});
