import { expect, test } from "vitest";
import { referenceVectors } from "../../tests/support/reference-vectors.js";
import { sharedHparams } from "../algorithms/shared-hparams.js";
import { choice, type Hparam, hparam, powerOfTen, powerOfTwoInteger, uniform } from "../hparams.js";
import { drawHparam, drawHparams } from "./hparam-draws.js";

const first = { hparamsSeed: 1, trialSeed: 0 };
const shared = {
  small: sharedHparams({ dataset: "", size: "small" }),
  large: sharedHparams({ dataset: "", size: "large" }),
};
const draw = (reference: string, range: Hparam<number>["range"], seeds = first) =>
  drawHparam("any name", hparam(0, range, { reference }), seeds);

/** Equal except for the last bit of a power, which the C library of NumPy may round differently. */
function expectEqual(drawn: unknown, reference: number, what: string): void {
  expect(Math.abs((drawn as number) - reference), `${what}: ${drawn} for ${reference}`).toBeLessThanOrEqual(
    Number.EPSILON * Math.abs(reference),
  );
}

test("the first draw of the large datasets' hyperparameters is the reference's", () => {
  const drawn = drawHparams(shared.large, first);
  expect(drawn.lr).toBe(2.7028930742148706e-5);
  expect(drawn.weightDecay).toBe(0.00044832883881609976);
  expect(drawn.batchSize).toBe(39);
  expect(drawn.dropout).toBe(0.5);
  expect(drawn.dataAugmentation).toBe(true);
});

test("the first draw of the small datasets' hyperparameters is the reference's", () => {
  const drawn = drawHparams(shared.small, first);
  expect(drawn.lr).toBe(1.1906162909279594e-4);
  expect(drawn.weightDecay).toBe(0);
  expect(drawn.batchSize).toBe(372);
});

test("the first draws of algorithms' hyperparameters are the reference's", () => {
  expect(draw("theta", powerOfTen(-2.5, -1.5))).toBe(0.006794480466102864);
  expect(draw("batch_size", powerOfTwoInteger(5, 6))).toBe(60);
  expect(String(draw("irm_lambda", powerOfTen(-1, 5)))).toMatch(/^65030\.522/);
  expect(Math.trunc(draw("irm_penalty_anneal_iters", powerOfTen(0, 4)))).toBe(2);
  expect(String(draw("mixup_alpha", powerOfTen(-1, 1)))).toMatch(/^0\.631349/);
  expect(String(draw("mmd_gamma", powerOfTen(-1, 1)))).toMatch(/^1\.422757/);
  expect(String(draw("lambda", powerOfTen(-2, 2)))).toMatch(/^3\.500347/);
  expect(draw("mtl_ema", choice([0.5, 0.9, 0.99, 1]))).toBe(0.99);
  expect(draw("meta_lr", choice([0.05, 0.1, 0.5]))).toBe(0.5);
});

test("sixty draws of every kind of range are NumPy's", () => {
  for (const expected of referenceVectors.draws) {
    const seeds = { hparamsSeed: expected.hparamsSeed, trialSeed: expected.trialSeed };
    const what = `seeds ${seeds.hparamsSeed} and ${seeds.trialSeed}`;
    for (const size of ["small", "large"] as const) {
      const byName = Object.fromEntries(
        Object.entries(shared[size]).map(([name, one]) => [one.reference, drawHparam(name, one, seeds)]),
      );
      for (const [name, value] of Object.entries(expected[size])) expectEqual(byName[name], value, `${name}, ${what}`);
    }
    const domainNet = sharedHparams({ dataset: "domainnet", size: "large" });
    expect(drawHparams(domainNet, seeds).batchSize, what).toBe(expected.domainnet.batch_size);
    const { theta, batch_size: batch } = expected["nuclear-norm"];
    expectEqual(draw("theta", powerOfTen(-2.5, -1.5), seeds), theta, what);
    expect(draw("batch_size", powerOfTwoInteger(5, 6), seeds)).toBe(batch);
    const other = expected.algorithms;
    expectEqual(draw("irm_lambda", powerOfTen(-1, 5), seeds), other.irm_lambda, what);
    const [iterations, steps] = [powerOfTen(0, 4), uniform(0, 5000)];
    expect(Math.trunc(draw("irm_penalty_anneal_iters", iterations, seeds))).toBe(other.irm_penalty_anneal_iters);
    expect(Math.trunc(draw("penalty_anneal_iters", steps, seeds))).toBe(other.penalty_anneal_iters);
    expect(draw("mtl_ema", choice([0.5, 0.9, 0.99, 1]), seeds)).toBe(other.mtl_ema);
    expect(draw("tau", uniform(0.5, 1), seeds)).toBe(other.tau);
    expect(draw("mlp_depth", choice([3, 4, 5]), seeds)).toBe(other.mlp_depth);
  }
});

test("search seed 0 is the defaults, in every trial", () => {
  for (const trialSeed of [0, 1, 2])
    expect(drawHparams(shared.large, { hparamsSeed: 0, trialSeed })).toEqual({
      lr: 5e-5,
      weightDecay: 0,
      batchSize: 32,
      dropout: 0,
      dataAugmentation: true,
      classBalanced: false,
      nonlinearClassifier: false,
      freezeBatchNorm: true,
    });
});

test("a draw depends on nothing but the seeds, the name in the reference and the range", () => {
  const alone = drawHparams({ lr: shared.large.lr }, first);
  const reversed = Object.fromEntries(Object.entries(shared.large).reverse());
  expect(drawHparams(reversed, first)).toEqual(drawHparams(shared.large, first));
  expect(alone.lr).toBe(drawHparams(shared.large, first).lr);
  expect(drawHparams({ renamed: shared.large.lr }, first).renamed).toBe(alone.lr);
});

test("a hyperparameter that the reference does not know is drawn by its own name", () => {
  const own = hparam(1, uniform(0, 1));
  const drawn = drawHparams({ a: own, b: own }, first);
  expect(drawn.a).toBe(draw("a", uniform(0, 1)));
  expect(drawn.b).toBe(draw("b", uniform(0, 1)));
  expect(drawn.a).not.toBe(drawn.b);
});

test.each([-1, 0.5, Number.NaN])("the seed %s is refused", (hparamsSeed) => {
  expect(() => drawHparams(shared.large, { hparamsSeed, trialSeed: 0 })).toThrow(
    `hyperparameter lr: expected hparamsSeed to be an integer of at least 0, got ${hparamsSeed}`,
  );
});
