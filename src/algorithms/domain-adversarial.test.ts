import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { Mlp } from "../backbones/index.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import type { HparamValue } from "../hparams.js";
import { Learner } from "../training/learner.js";
import { hparamsOn } from "./algorithm.js";
import { cdann } from "./cdann.js";
import { dann } from "./dann.js";

/** Returns the state after some updates on two domains with these numbers of samples. */
function train(hparams: Record<string, HparamValue>, { sizes = [3, 3], updates = 3, algorithm = dann } = {}) {
  using learner = new Learner({
    algorithm,
    makeBackbone: () => new Mlp({ inputShape: [4], width: 5 }),
    classes: 2,
    domains: 2,
    hparams: { lrG: 0.01, lrD: 0.01, mlpWidth: 16, ...hparams },
  });
  fillByFormula(learner.root);
  const logs = Array.from({ length: updates }, (_, step) =>
    scope(() =>
      learner.update(
        sizes.map((rows, e) => ({
          x: formulaTensor(`x ${step} ${e}`, [rows, 4]),
          y: tensor(
            Array.from({ length: rows }, (_, i) => i % 2),
            { dtype: "int64" },
          ),
        })),
        step,
      ),
    ),
  );
  return { logs, state: new Map([...learner.stateDict()].map(([key, value]) => [key, value.toNumbers()])) };
}

test("generator and discriminator take turns, with the requested number of discriminator updates", () => {
  const turns = (dStepsPerGStep: number) => train({ dStepsPerGStep }, { updates: 5 }).logs.flatMap(Object.keys);
  expect(turns(1)).toEqual(["gen_loss", "disc_loss", "gen_loss", "disc_loss", "gen_loss"]);
  expect(turns(2)).toEqual(["disc_loss", "gen_loss", "disc_loss", "disc_loss", "gen_loss"]);
});

test.each([
  [1, ["backbone", "classifier"]],
  [2, ["discriminator"]],
])("with %i discriminator steps the first update changes %s alone", (dStepsPerGStep, changed) => {
  for (const algorithm of [dann, cdann]) {
    const before = train({}, { updates: 0, algorithm }).state;
    const after = train({ dStepsPerGStep }, { updates: 1, algorithm }).state;
    const moved = [...after].filter(([key, value]) => `${value}` !== `${before.get(key)}`);
    const extra = dStepsPerGStep === 2 && algorithm === cdann ? ["classEmbeddings"] : [];
    expect(new Set(moved.map(([key]) => key.split(".")[0]))).toEqual(new Set([...changed, ...extra]));
  }
});

test("the old gradient penalty does nothing on batches of equal size, and the other does", () => {
  const old = { gradPenalty: 10, gradPenaltyOf: "softmax-columns" };
  const none = train({}).state;
  const differs = (state: Map<string, number[]>) =>
    Math.max(...[...state].flatMap(([key, value]) => value.map((number, i) => Math.abs(number - none.get(key)![i]))));
  for (const [key, value] of train(old).state) expectClose(value, none.get(key)!, { atol: 1e-6, what: key });
  expect(differs(train({ gradPenalty: 10 }).state)).toBeGreaterThan(1e-3);
  const unequal = { sizes: [4, 2] };
  expect(train(old, unequal).state).not.toEqual(train({}, unequal).state);
});

test("rates and the generator's weight decay depend on the dataset's size", () => {
  for (const algorithm of [dann, cdann]) {
    expect(hparamsOn("large", algorithm).lrG).toMatchObject({ default: 5e-5, reference: "lr_g" });
    expect(hparamsOn("small", algorithm).lrD).toMatchObject({ default: 1e-3, reference: "lr_d" });
    expect(hparamsOn("small", algorithm).weightDecayG.range.text).toBe("{0}");
    expect(hparamsOn("large", algorithm).weightDecayG.range.text).toBe("10^U(-6, -2)");
    expect(Object.keys(hparamsOn("small", algorithm))).toEqual(Object.keys(algorithm.hparams));
  }
});

test("an unknown form of the penalty is an error that suggests the nearest name", () => {
  expect(() => train({ gradPenaltyOf: "cross-entropie" })).toThrow('did you mean "cross-entropy"?');
});
