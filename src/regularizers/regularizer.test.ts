import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { choice, hparam, powerOfTen } from "../hparams.js";
import { option, whole, word } from "../options.js";
import { defineRegularizer } from "./regularizer.js";

/** A regularizer as in a plug-in, without settings and warm-up. */
const meanSquare = defineRegularizer({
  id: "mean-square",
  title: "MS",
  paper: "none",
  hparams: { weight: hparam(0.5, powerOfTen(-1, 0)), power: hparam(2, choice([1, 2])) },
  penalty: ({ features, settings }) => features.pow(settings.power).mean(),
});

test("a definition carries its facts, and calling it fills in defaults", () => {
  expect([meanSquare.id, meanSquare.title, meanSquare.hparams.weight.default, meanSquare.settings]).toEqual([
    "mean-square",
    "MS",
    0.5,
    {},
  ]);
  expect(meanSquare().settings).toEqual({ weight: 0.5, power: 2 });
  expect(meanSquare({ power: 1 }).settings).toEqual({ weight: 0.5, power: 1 });
});

test("the term is the penalty times the weight, from the first step where there is no warm-up", () =>
  scope(() => {
    const features = tensor([[1, 3]]);
    expectClose([meanSquare({ weight: 0.1 }).term({ features, step: 0 })!.item()], [0.5], { rtol: 1e-6 });
    expectClose([meanSquare({ weight: 0.1, power: 1 }).term({ features, step: 0 })!.item()], [0.2], { rtol: 1e-6 });
  }));

test("penalty sees hyperparameters and settings by their own types", () =>
  scope(() => {
    const define = defineRegularizer({
      id: "typed",
      title: "T",
      paper: "none",
      hparams: { weight: hparam(1, powerOfTen(0, 1)) },
      settings: {
        mode: option(word("sum", "mean"), "how", { default: "mean" }),
        warmup: option(whole(0), "when", { default: 2 }),
      },
      penalty: ({ features, settings }) => {
        const mode: "sum" | "mean" = settings.mode;
        return mode === "sum" ? features.sum() : features.mean();
      },
    });
    const features = tensor([[1, 3]]);
    expect(define().term({ features, step: 1 })).toBeNull();
    expect(define({ mode: "sum" }).term({ features, step: 2 })!.item()).toBe(4);
  }));
