import { expect, test } from "vitest";
import { UsageError } from "../../errors.js";
import { alphaBound, resolveSetting } from "./setting.js";

test("the defaults are the issue's: d from the Proposition, λ from the proof, B_rank = r", () => {
  const setting = resolveSetting({});
  expect(setting).toMatchObject({ r: 64, gamma: 0.4, d: 465, bRank: 64, seed: 0 });
  const terms = 1 / (2 * (1 + Math.exp(63 / 32))) + Math.exp(-63 / 8) / 4 + Math.exp(-401 * 0.08) / 2;
  expect(setting.lambda0).toBeCloseTo(8 * terms, 14);
  expect(setting.lambda).toBe(setting.lambda0);
  expect(setting.lambdaStated).toBeCloseTo(8 / Math.exp(8 / 5), 14);
});

test("λ₀ is where the proof's bound at 1/√r equals λ/√r", () => {
  const setting = resolveSetting({ r: 100, gamma: "0.31" });
  expect(alphaBound(setting, 0.1)).toBeCloseTo(setting.lambda0 / 10, 14);
});

test("values outside the model are refused, values outside the Proposition are not", () => {
  for (const options of [
    { r: 0 },
    { r: 2.5 },
    { gamma: 0 },
    { gamma: "0.51" },
    { gamma: "-0.2" },
    { r: 8, d: 8 },
    { d: 3_000_000 },
    { lambda: 0 },
    { lambda: Number.NaN },
    { bRank: 0 },
    { r: 4, d: 10, bRank: 11 },
    { seed: -1 },
    { samples: 0 },
    { gamma: "1e-5" },
  ]) {
    expect(() => resolveSetting(options), JSON.stringify(options)).toThrow(UsageError);
  }
  expect(resolveSetting({ r: 3, gamma: "0.5", d: 5, bRank: 5 })).toMatchObject({ r: 3, d: 5, bRank: 5 });
  expect(() => resolveSetting({ gamma: "1e-5" })).toThrow("give a smaller d, a smaller r or a larger gamma");
});
