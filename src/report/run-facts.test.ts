import { expect, test } from "vitest";
import { resolve } from "../settings/resolve.js";
import { runFacts } from "./run-facts.js";

const shapes = { data: "shapes", testDomains: "filled", threads: 2 };
const factsOf = async (request: object): Promise<Record<string, string>> =>
  Object.fromEntries(runFacts((await resolve({ ...shapes, ...request })).settings, { step: 300 }));

test("a run is described in words: its pictures, method and length", async () => {
  const facts = await factsOf({ algorithm: "ERM-NU", steps: 301, evaluateEvery: 50 });
  expect(facts).toMatchObject({
    "trained on": "outlined, textured, inverted",
    "held out": "filled",
    method: "ERM-NU",
    penalty: "nuclear-norm: 0.01·‖F‖_*/n, from step 101 on",
    network: "small CNN, from random weights",
    updates: "301, each of 3 × 64 pictures, augmented; evaluated every 50",
    "the model": "the weights after step 300, where the validation accuracy was highest",
  });
});

test("the paper's scaling and other penalties are described correctly", async () => {
  const facts = await factsOf({ algorithm: "ERM-NU", "nuclear-norm.scaling": "sum", "nuclear-norm.warmup": 0 });
  expect(facts.penalty).toBe("nuclear-norm: 0.01·‖F‖_*");
  expect((await factsOf({ regularizers: "centred-nuclear-norm" })).penalty).toMatch(
    /^centred-nuclear-norm, weight 0.01/,
  );
  expect((await factsOf({ testDomains: [] }))["held out"]).toBe("none");
});
