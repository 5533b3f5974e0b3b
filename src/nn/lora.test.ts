import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, tensor } from "../engine/tensor.js";
import { Linear } from "./linear.js";
import { Lora, mergedState } from "./lora.js";

test("LoRA adds (alpha/rank)·B·A·x to the parts of the output that are adapted", () => {
  scope(() => {
    using layer = new Linear(2, 3, { bias: false });
    noGrad(() => layer.weight.zero_());
    // There are three parts of one output each. The first and the last are adapted, with rank 1.
    layer.lora = new Lora(2, 3, [true, false, true], { rank: 1, alpha: 10 });
    noGrad(() => {
      layer.lora!.a.copy_(
        tensor([
          [1, 2],
          [3, 4],
        ]),
      );
      layer.lora!.b.copy_(tensor([[5], [7]]));
    });
    // x = (1, 1): A·x = (3, 7), so q = 10·5·3, v = 10·7·7.
    expect(layer.forward(tensor([[1, 1]])).toArray()).toEqual([[150, 0, 490]]);
    expect([...mergedState(layer).keys()]).toEqual(["weight"]);
    expect(mergedState(layer).get("weight")!.toArray()).toEqual([
      [50, 100],
      [0, 0],
      [210, 280],
    ]);
  });
});

test("LoRA starts as the network was, and merged gives the same outputs", () => {
  scope(() => {
    using layer = new Linear(16, 24).initialize(new Random(1));
    const x = formulaTensor("x", [3, 5, 16]);
    const before = noGrad(() => layer.forward(x));
    layer.lora = new Lora(16, 24, [true, true, false], { rank: 4, alpha: 8 }).initialize(new Random(2));
    expect(noGrad(() => layer.forward(x)).equal(before)).toBe(true);
    noGrad(() => new Random(3).normal_(layer.lora!.b));
    const after = noGrad(() => layer.forward(x));
    expect(after.equal(before)).toBe(false);
    using merged = new Linear(16, 24);
    merged.loadStateDict(mergedState(layer));
    expectClose(
      noGrad(() => merged.forward(x)),
      after,
      { rtol: 1e-5, atol: 1e-5 },
    );
  });
});

test("a rank below 1, and nothing to adapt, are errors", () => {
  expect(() => new Lora(4, 4, [true], { rank: 0, alpha: 1 })).toThrow("the rank must be a whole number from 1, got 0");
  expect(() => new Lora(4, 4, [false, false], { rank: 1, alpha: 1 })).toThrow("none is adapted");
});
