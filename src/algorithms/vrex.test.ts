import { expect, test } from "vitest";
import { bareStep, logitsWithLoss } from "../../tests/support/bare-algorithm.js";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { vrex } from "./vrex.js";

const domains = [0.5, 1, 2].map((loss) => ({ logits: [logitsWithLoss(loss)], y: [0] }));
const hparams = { penaltyWeight: 10, annealSteps: 3 };
const at = (step: number) => bareStep({ algorithm: vrex, domains, hparams, step });

test("the penalty is the variance of the domains' losses, and nll is logged as their mean", () => {
  scope(() => {
    const { nll, penalty } = at(0).logs as Record<string, Tensor>;
    expectClose(nll, 7 / 6, { rtol: 1e-12 });
    expectClose(penalty, 7 / 18, { rtol: 1e-12 });
  });
});

test("the penalty has weight 1 before annealSteps and penaltyWeight afterwards, and the optimizer is reset once in between", () => {
  scope(() => {
    expectClose(at(2).loss, 7 / 6 + 7 / 18, { rtol: 1e-12 });
    expectClose(at(3).loss, 7 / 6 + 70 / 18, { rtol: 1e-12 });
    expectClose(at(4).loss, 7 / 6 + 70 / 18, { rtol: 1e-12 });
    expect([2, 3, 4].map((step) => at(step).resetOptimizer)).toEqual([false, true, false]);
  });
});

test("with one domain it is ERM", () => {
  scope(() => expectClose(bareStep({ algorithm: vrex, domains: [domains[1]] }).loss, 1, { rtol: 1e-12 }));
});
