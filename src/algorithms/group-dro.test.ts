import { expect, test } from "vitest";
import { bareStep, logitsWithLoss } from "../../tests/support/bare-algorithm.js";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { DomainWeights, groupDro } from "./group-dro.js";

const LOSSES = [0.5, 1, 2];
const domains = LOSSES.map((loss) => ({ logits: [logitsWithLoss(loss), logitsWithLoss(loss)], y: [0, 0] }));

test("weights follow the losses and keep the sum 1", () => {
  scope(() => {
    using weights = new DomainWeights(3).to({ dtype: "float64" });
    const q = weights.follow(tensor(LOSSES, { dtype: "float64" }), 0.01);
    expectClose(q, [0.331112, 0.332772, 0.336116], { atol: 1e-6 });
    expectClose(weights.q, q, { rtol: 1e-15 });
    expect(q.requiresGrad).toBe(false);
  });
});

test("the loss is the weighted sum, divided by the domains only on request", () => {
  scope(() => {
    const hparams = { eta: 0.01 };
    expect(bareStep({ algorithm: groupDro, domains, hparams }).loss.item()).toBeCloseTo(1.17056, 6);
    const divided = bareStep({ algorithm: groupDro, domains, hparams: { ...hparams, divideByDomains: true } });
    expect(divided.loss.item()).toBeCloseTo(1.17056 / 3, 6);
  });
});
