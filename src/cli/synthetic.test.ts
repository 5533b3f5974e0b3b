import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DataError, UsageError } from "../errors.js";
import { syntheticCommand } from "./synthetic.js";

async function run(...args: string[]): Promise<string> {
  let printed = "";
  const command = syntheticCommand((text) => {
    printed += text;
  });
  await command
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parseAsync(args, { from: "user" });
  return printed;
}

const quick = ["--seeds", "3", "--samples", "20", "--steps", "40"];

test("the JSON carries every seed's figures, the landmarks and the findings", async () => {
  const result = JSON.parse(await run(...quick, "--json"));
  expect(result.methods.map((method: { title: string }) => method.title).slice(0, 2)).toEqual(["ERM", "ERM-NU"]);
  const [erm, nu] = result.methods;
  expect([erm.paper.accuracy, nu.paper.accuracy]).toEqual([0.76, 0.94]);
  expect(erm.runs.map((each: { seed: number }) => each.seed)).toEqual([0, 1, 2]);
  for (const each of [...erm.runs, ...nu.runs]) {
    expect(each).toMatchObject({ stoppedBy: "steps", steps: 40 });
    expect(each.headNorm).toBeGreaterThan(0);
    expect(each.features.ratio).toBeGreaterThanOrEqual(1 - 1e-12);
    expect(each.features.ratio).toBeLessThanOrEqual(Math.SQRT2 + 1e-12);
  }
  const mean = erm.runs.reduce((sum: number, each: { accuracy: { out: number } }) => sum + each.accuracy.out, 0) / 3;
  expect(erm.accuracy.out.mean).toBeCloseTo(mean, 14);
  expect(result.landmarks).toHaveLength(3);
  expect(result.findings.settings).toBe(160);
  expect(result.otherMap.settings.map).toBe("diagonal");
});

test("the text has the paper's figures, the stopping rule and the best and worst seeds", async () => {
  const text = await run(...quick, "--no-grid");
  for (const words of ["0.76", "0.94", "step limit 3×", "worst (seed)", "best (seed)", "‖F‖_*/‖F‖_F", "In closed form"])
    expect(text).toContain(words);
  expect(text).not.toMatch(/NaN|undefined/);
});

test("two runs print the same", async () => {
  expect(await run(...quick, "--no-grid")).toBe(await run(...quick, "--no-grid"));
});

test("another task is run without the paper's figures", async () => {
  const text = await run(...quick, "--invariant", "2", "--environmental", "2", "--penalties", "nuclear-norm");
  expect(text).toContain("2 invariant and 2 environmental");
  expect(text).not.toContain("0.76");
});

test("figures are written as SVG and PNG and named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-synthetic-"));
  try {
    const { figures } = JSON.parse(await run(...quick, "--no-grid", "--json", "--figure", folder));
    expect(figures).toHaveLength(6);
    expect(figures.every(existsSync)).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(
      ["figure-1b", "figure-2", "training"].flatMap((name) => [`synthetic-${name}.png`, `synthetic-${name}.svg`]),
    );
    const figure = readFileSync(join(folder, "synthetic-figure-2.svg"), "utf8");
    for (const title of ["ERM, in domain", "ERM, out of domain", "ERM-NU, in domain", "ERM-NU, out of domain"])
      expect(figure).toContain(title);
    expect(figure).not.toContain("NaN");
    writeFileSync(join(folder, "file"), "");
    await expect(run(...quick, "--no-grid", "--figure", join(folder, "file"))).rejects.toThrow(DataError);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each([
  [["--seeds", "0"], /--seeds: expected an integer of at least 1/],
  [["--samples", "many"], /--samples/],
  [["--init", "unifrom"], /did you mean "uniform"/],
  [["--penalties", "nuclear-norm,ridge"], /unknown penalty "ridge"/],
  [["--learning-rate", "-1"], /--learning-rate: expected a number above 0/],
  [["--agreement-in", "1.5"], /--agreement-in/],
  [["--scaling", "mean"], /unknown scaling "mean"/],
  [["--grid", "--environmental", "4"], /--grid reproduces the paper's numbers/],
])("%j is a usage error", async (args, message) => {
  await expect(run(...args)).rejects.toThrow(UsageError);
  await expect(run(...args)).rejects.toThrow(message);
});
