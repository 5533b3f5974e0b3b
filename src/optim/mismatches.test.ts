import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { EngineError } from "../errors.js";
import { Adam } from "./index.js";
import { mismatchesOf, shortenError } from "./mismatches.js";

test("what a fused kernel would refuse is found before a GPU does: memory in another order or dtype", () => {
  scope(() => {
    const weight = tensor(new Float32Array(24), { shape: [2, 3, 2, 2] }).to({ memoryFormat: "channels_last" });
    const plain = tensor(new Float32Array(24), { shape: [2, 3, 2, 2] });
    expect(mismatchesOf(weight, [["exp_avg", weight.zerosLike()]])).toEqual([]);
    expect(mismatchesOf(weight, [["exp_avg", plain]])).toEqual([
      "a parameter is float32[2, 3, 2, 2] with strides [12, 1, 6, 3], its exp_avg float32[2, 3, 2, 2] with strides [12, 4, 2, 1]",
    ]);
    expect(mismatchesOf(weight, [["exp_avg", weight.toDType("float64")]])).toHaveLength(1);
    weight.requiresGrad_();
    weight.grad = plain;
    using optimizer = new Adam([weight], { lr: 0.1 });
    optimizer.step();
    expect(optimizer.mismatches()).toEqual([]);
  });
});

test("the message of an operator on hundreds of tensors is cut to its reason and the first that differ", () => {
  const listed = Array.from({ length: 32 }, () => "float32[64, 3, 7, 7]@cuda:0").join(", ");
  const error = new EngineError(
    `_fused_adam_(${listed}, … 142 more): params and grads must have same layout\nException raised`,
  );
  expect(shortenError(error, [])).toBe("_fused_adam_: params and grads must have same layout");
  expect(shortenError(error, ["a", "b", "c", "d", "e"])).toBe(
    "_fused_adam_: params and grads must have same layout (a; b; c; and 2 more)",
  );
});
