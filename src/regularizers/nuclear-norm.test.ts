import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fallingSigmas, matrixWith, normalMatrix, orthonormal } from "../../tests/support/matrices.js";
import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import { centredNuclearNorm, frobeniusNorm, nuclearNorm, regularizerNamed } from "./index.js";

const diagonal = () => tensor([[3, 0, 0], [0, 4, 0]], { dtype: "float64" }); // biome-ignore format: a matrix

test("the default is 0.01·‖F‖_* over the rows, from step 101 on", () =>
  scope(() => {
    const nu = nuclearNorm();
    expect(nu.settings).toEqual({ weight: 0.01, scaling: "per-sample", warmup: 101, on: "features", route: "auto" });
    expect([0, 100, 101, 5000].map((step) => nu.isActive(step))).toEqual([false, false, true, true]);
    expect(nu.term({ features: diagonal(), step: 100 })).toBeNull();
    expectClose([nu.term({ features: diagonal(), step: 101 })!.item()], [(0.01 * 7) / 2], { rtol: 1e-12 });
  }));

test("scaling=sum warmup=0 is the paper's formula, from the first step on", () =>
  scope(() => {
    const nu = nuclearNorm({ weight: 0.1, scaling: "sum", warmup: 0 });
    expectClose([nu.term({ features: diagonal(), step: 0 })!.item()], [0.1 * 7], { rtol: 1e-12 });
  }));

test("a weight of zero switches it off", () => {
  expect(nuclearNorm({ weight: 0 }).isActive(500)).toBe(false);
});

test("the gradient reaches what made the features, through the loss it is added to", () =>
  scope(() => {
    const x = normalMatrix(5, 3, 1);
    const w = normalMatrix(3, 8, 2).requiresGrad_();
    const features = x.mm(w);
    const loss = features.sum().mul(0.5);
    loss.add(nuclearNorm({ weight: 0.2 }).term({ features, step: 101 })!).backward();
    // ∂/∂W = xᵀ·(0.5 + 0.2/n·P), where P spans the three directions of the features.
    const exact = nuclearNorm({ weight: 1, scaling: "sum", warmup: 0, route: "svd" });
    const alone = x.mm(w.detach()).requiresGrad_();
    exact.term({ features: alone, step: 0 })!.backward();
    const expected = x.t().mm(alone.grad!.mul(0.2 / 5).add(0.5));
    expectClose(w.grad!, expected, { rtol: 1e-9, atol: 1e-12 });
  }));

test("on=logits penalises the logits, and is an error without logits", () =>
  scope(() => {
    const nu = nuclearNorm({ weight: 1, scaling: "sum", warmup: 0, on: "logits" });
    const features = zeros([2, 3]);
    expectClose([nu.term({ features, logits: diagonal(), step: 0 })!.item()], [7], { rtol: 1e-12 });
    expect(() => nu.term({ features, step: 0 })).toThrow(/nuclear-norm on=logits: this algorithm returned no logits/);
  }));

test.each([nuclearNorm, centredNuclearNorm, frobeniusNorm])(
  "$id: NaN and Inf are errors that name step and tensor",
  (define) =>
    scope(() => {
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
        const features = normalMatrix(4, 6).to({ dtype: "float32" });
        features.select(0, 1).select(0, 2).fill_(bad);
        const call = () => define().term({ features, step: 137 });
        expect(call).toThrow(EngineError);
        expect(call).toThrow(/features.*at step 137/);
        expect(call).toThrow(/float32\[4, 6\]/);
      }
    }),
);

test("a route that was abandoned is reported in the run's log", () =>
  scope(() => {
    const notices: string[] = [];
    const { matrix } = matrixWith(fallingSigmas(8, 2e5), [8, 30]);
    const nu = nuclearNorm({ route: "newton-schulz" });
    nu.term({ features: matrix, step: 101, notice: (message) => notices.push(message) });
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain("the features at step 101");
  }));

test("inside a captured graph the residual is handed over unread", () =>
  scope(() => {
    const residuals: number[] = [];
    const term = nuclearNorm({ weight: 1, scaling: "sum" }).term({
      features: diagonal(),
      step: 101,
      watch: (residual) => residuals.push(residual.item()),
    })!;
    expectClose([term.item()], [7], { rtol: 1e-9 });
    expect(residuals).toHaveLength(1);
    expect(residuals[0]).toBeLessThan(1e-4);
  }));

test("NU searches its weight and batch size where the paper does", () => {
  const { weight } = nuclearNorm.hparams;
  expect([weight.default, weight.range.text, weight.reference]).toEqual([0.01, "10^U(-2.5, -1.5)", "theta"]);
  const batchSize = nuclearNorm.overrides!.large!.batchSize;
  expect([batchSize.default, batchSize.range.text, batchSize.reference]).toEqual([32, "int(2^U(5, 6))", "batch_size"]);
});

test("the centred norm does not see the mean, and the plain one does", () =>
  scope(() => {
    const features = normalMatrix(6, 10, 5);
    const shifted = features.add(normalMatrix(1, 10, 6).mul(20));
    const settings = { weight: 1, scaling: "sum", warmup: 0 } as const;
    const norm = (define: typeof nuclearNorm | typeof centredNuclearNorm, matrix: typeof features): number =>
      define(settings).term({ features: matrix, step: 0 })!.item();
    expectClose([norm(centredNuclearNorm, shifted)], [norm(centredNuclearNorm, features)], { rtol: 1e-10 });
    expect(norm(nuclearNorm, shifted)).toBeGreaterThan(norm(nuclearNorm, features) + 50);
  }));

test("the centred norm's gradient is centred too", () =>
  scope(() => {
    const features = normalMatrix(6, 10, 5).requiresGrad_();
    centredNuclearNorm({ warmup: 0 }).term({ features, step: 0 })!.backward();
    expectClose(features.grad!.sum(0), zeros([10]), { atol: 1e-12 });
    expect(features.grad!.norm().item()).toBeGreaterThan(0);
  }));

test("the Frobenius norm's gradient is F/‖F‖, and zero at zero", () =>
  scope(() => {
    const settings = { weight: 1, scaling: "sum", warmup: 0 } as const;
    for (const [matrix, expected] of [
      [tensor([[3, 0], [0, 4]]), [0.6, 0, 0, 0.8]], // biome-ignore format: a matrix
      [zeros([2, 2]), [0, 0, 0, 0]],
    ] as const) {
      const leaf = matrix.clone().requiresGrad_();
      frobeniusNorm(settings).term({ features: leaf, step: 0 })!.backward();
      expectClose(leaf.grad!, expected, { atol: 1e-6 });
    }
  }));

test("at the same size, NU prefers fewer directions and the Frobenius norm does not care", () =>
  scope(() => {
    const settings = { weight: 1, scaling: "sum", warmup: 0 } as const;
    const one = matrixWith([2], [4, 4]).matrix;
    const four = orthonormal(4, 4); // the same Frobenius norm, 2
    const value = (define: typeof nuclearNorm | typeof frobeniusNorm, features: typeof one): number =>
      define(settings).term({ features, step: 0 })!.item();
    expectClose([value(nuclearNorm, one), value(nuclearNorm, four)], [2, 4], { rtol: 1e-10 });
    expectClose([value(frobeniusNorm, one), value(frobeniusNorm, four)], [2, 2], { rtol: 1e-10 });
  }));

test("unknown settings and values that do not fit are named", () => {
  const bad = (options: Record<string, unknown>) => () => regularizerNamed("nuclear-norm")(options);
  expect(bad({ wieght: 1 })).toThrow(/unknown option of nuclear-norm "wieght": did you mean "weight"\?/);
  expect(bad({ scaling: "persample" })).toThrow(
    /unknown nuclear-norm\.scaling "persample": did you mean "per-sample"\?/,
  );
  expect(bad({ weight: -1 })).toThrow(UsageError);
  expect(bad({ weight: Number.NaN })).toThrow(/nuclear-norm\.weight: expected a number/);
  expect(bad({ warmup: 1.5 })).toThrow(/nuclear-norm\.warmup: expected an integer of at least 0, got 1.5/);
  expect(bad({ route: "qr" })).toThrow(/unknown nuclear-norm\.route "qr"/);
});

test("values may come as the command line's text", () => {
  const nu = regularizerNamed("NU")({ weight: "0.03", warmup: "0" });
  expect(nu.settings).toMatchObject({ weight: 0.03, warmup: 0 });
});
