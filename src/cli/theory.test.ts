import { Command } from "commander";
import { expect, test, vi } from "vitest";
import { UsageError } from "../errors.js";
import { readOptions, theoryCommand } from "./theory.js";

/** The output of `nudge theory …`. */
async function printed(...args: string[]): Promise<string> {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    await new Command("nudge").addCommand(theoryCommand()).parseAsync(["theory", ...args], { from: "user" });
    return write.mock.calls.map(([text]) => String(text)).join("");
  } finally {
    write.mockRestore();
  }
}

test("--json prints one object with everything in it", async () => {
  const result = JSON.parse(await printed(..."--r 64 --gamma 0.4 --b-rank 3 --samples 1000 --json".split(" ")));
  expect(result.setting).toMatchObject({ r: 64, gamma: 0.4, d: 465, bRank: 3, seed: 0, samples: 1000 });
  expect(result.outcomes.l2.alpha / result.outcomes.l2.beta).toBeCloseTo(1.2552, 4);
  expect(result.outcomes.l2.outOfDomain.log10Accuracy).toBeCloseTo(-35.865, 2);
  expect(result.outcomes.rank.outOfDomain.accuracy).toBe(1);
  expect(result.nuclear.limits.largestGamma).toBeCloseTo(0.4745, 3);
  expect(result.checks.length).toBeGreaterThan(50);
  for (const check of result.checks) expect(["holds", "fails", "outside"]).toContain(check.verdict);
});

test("every option reaches the setting", async () => {
  const text = await printed(..."--r 5 --gamma .3 --d 30 --lambda 0.2 --b-rank 2 --seed 9 --samples 500".split(" "));
  expect(text).toContain("r = 5 invariant features");
  expect(text).toContain("d = 30");
  expect(text).toContain("γ = 0.3");
  expect(text).toContain("λ = 0.2 ");
  expect(text).toContain("B_rank = 2");
  expect(text).toContain("500 draws each, seed 9");
});

test("γ stays the text that was typed", () => {
  expect(readOptions({ gamma: "0.40" })).toEqual({ gamma: "0.40" });
});

test("a bad value is a usage error that contains the option", async () => {
  await expect(printed("--r", "many")).rejects.toThrow('--r: expected a number, got "many"');
  for (const args of [
    ["--r", "6.5"],
    ["--gamma", "0.7"],
    ["--gamma", "a"],
    ["--d", "64"],
    ["--lambda", "-1"],
    ["--lambda", ""],
    ["--b-rank", "0"],
    ["--seed", "x"],
    ["--samples", "0"],
  ]) {
    await expect(printed(...args), args.join(" ")).rejects.toThrow(UsageError);
  }
});
