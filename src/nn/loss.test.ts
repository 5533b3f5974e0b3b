import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { crossEntropy, mse } from "./loss.js";

test("cross-entropy of equal logits is ln(classes), and its gradient softmax − one-hot", () => {
  scope(() => {
    const logits = tensor([[2, 2, 2, 2]]).requiresGrad_();
    const loss = crossEntropy(logits, tensor([1], { dtype: "uint8" }));
    loss.backward();
    expect(loss.item()).toBeCloseTo(Math.log(4), 6);
    expectClose(logits.grad!, [[0.25, -0.75, 0.25, 0.25]], { atol: 1e-6 });
  });
});

test("bfloat16 logits are summed in float32", () => {
  scope(() => {
    const logits = tensor([[1.5, -2, 0.25]]);
    const y = tensor([2], { dtype: "int64" });
    const low = crossEntropy(logits.toDType("bfloat16"), y); // these numbers are exact in bfloat16
    expect(low.dtype).toBe("float32");
    expect(low.item()).toBe(crossEntropy(logits, y).item());
    expect(mse(logits.toDType("bfloat16"), logits).dtype).toBe("float32");
  });
});

test("a label beyond the classes is an error, not a number", () => {
  scope(() => {
    expect(() => crossEntropy(tensor([[0, 0]]), tensor([2], { dtype: "int64" }))).toThrow(/out of bounds/);
  });
});

test("mse refuses to broadcast", () => {
  scope(() => {
    expect(() => mse(tensor([[1, 2]]), tensor([1, 2]))).toThrow(
      "mse: expected two tensors of one shape, got float32[1, 2] and float32[2]",
    );
  });
});
