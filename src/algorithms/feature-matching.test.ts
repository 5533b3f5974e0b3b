import { expect, test } from "vitest";
import { bareStep } from "../../tests/support/bare-algorithm.js";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { coral, momentDistance } from "./coral.js";
import { discrepancy, mmd } from "./mmd.js";

// biome-ignore format: two samples of two features
const A = [[1, 0], [0, 1]];
// biome-ignore format: two samples of two features
const B = [[1, 1], [3, 0]];
const float64 = (values: number[][]) => tensor(values, { dtype: "float64" });
const y = [0, 1];

test("CORAL's distance is the distance of the means plus the distance of the covariances", () => {
  scope(() => expectClose(momentDistance(float64(A), float64(B)), 1.125 + 0.6875, { rtol: 1e-14 }));
});

test("MMD's distance sums seven Gaussian kernels over all pairs, a sample with itself included", () => {
  scope(() => {
    expectClose(discrepancy(float64(A), float64(B)), 4.029953, { atol: 1e-6 });
    expectClose(discrepancy(float64(A), float64(A)), 0, { atol: 1e-14 });
  });
});

test("a sample's distance to itself gives no gradient that is not finite", () => {
  scope(() => {
    const a = tensor([[0.1, 0.2]]).requiresGrad_();
    discrepancy(a, tensor([[0.1, 0.2]])).backward();
    expect(a.grad!.isfinite().allTrue().item()).toBe(1);
  });
});

test.for([mmd, coral])(
  "$title logs the loss without the penalty, and the penalty averages all pairs of domains",
  (algorithm) => {
    scope(() => {
      const domains = [A, B, A].map((logits) => ({ logits, y }));
      const { loss, logs } = bareStep({ algorithm, domains, hparams: { gamma: 3 } });
      const { loss: error, penalty } = logs as Record<string, Tensor>;
      const distance = algorithm === mmd ? discrepancy : momentDistance;
      expectClose(penalty, distance(float64(A), float64(B)).mul(2 / 3), { rtol: 1e-12 });
      expectClose(loss, error.add(penalty.mul(3)), { rtol: 1e-12 });
    });
  },
);

test.for([mmd, coral])("$title has no penalty where there is one domain", (algorithm) => {
  scope(() => {
    const { loss, logs } = bareStep({ algorithm, domains: [{ logits: A, y }] });
    expect(logs!.penalty).toBe(0);
    expectClose(loss, Math.log1p(Math.exp(-1)), { rtol: 1e-12 });
  });
});

test("CORAL refuses a domain with one sample", () => {
  scope(() => {
    const one = () => momentDistance(float64([[1, 2]]), float64(A));
    expect(one).toThrow(
      "CORAL takes the covariance of each domain's features: expected at least 2 samples a domain, got 1",
    );
  });
});
