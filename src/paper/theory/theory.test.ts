import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawFigure, figurePoint, figurePoints, writeTheoryFigure } from "./figure.js";
import { accuracyText, fromLog10, short } from "./format-number.js";
import { resolveSetting } from "./setting.js";
import { theoryText } from "./text.js";
import { runTheory } from "./theory.js";

const options = { r: 3, gamma: "0.4", d: 20, samples: 1000 };

test("a run gives the same numbers twice, and other sampled ones with another seed", () => {
  const first = runTheory(options);
  expect(runTheory(options)).toEqual(first);
  const other = runTheory({ ...options, seed: 1 });
  expect(other.l2).toEqual(first.l2);
  expect(other.descent).not.toEqual(first.descent);
  expect(other.outcomes.l2.sampled).not.toEqual(first.outcomes.l2.sampled);
});

test("sampled accuracies agree with exact ones", () => {
  const { outcomes } = runTheory({ ...options, samples: 20_000 });
  const { plain } = outcomes.l2.sampled;
  expect(Math.abs(plain!.estimate - outcomes.l2.outOfDomain.accuracy!)).toBeLessThan(4 * plain!.standardError!);
  expect(outcomes.rank.outOfDomain).toEqual({ accuracy: 1, log10Accuracy: 0, log10Error: null });
});

test("a λ for which the nuclear-norm model is zero is reported as no prediction, not as full accuracy", () => {
  const result = runTheory({ ...options, lambda: 5 });
  expect(result.nuclear.support).toBe("none");
  expect(result.outcomes.nuclear.outOfDomain.accuracy).toBeNull();
  const text = theoryText(result);
  expect(text).toContain("none (w = 0)");
  expect(text).toContain("the nuclear norm leaves nothing");
});

test("the text has the setting, a row an objective, a mark a line, and a reading", () => {
  const result = runTheory({ r: 64, gamma: "0.4", bRank: 4, samples: 500 });
  const text = theoryText(result);
  expect(text).toContain("r = 64 invariant features");
  expect(text).toContain("d = 465");
  expect(text).toMatch(/^ERM-ℓ2 .* 1\.2552 .* 1\.36e-36 /m);
  expect(text).toMatch(/^ERM-rank .* 1 exactly {2}/m);
  expect(text).toMatch(/^nuclear norm .* 1 exactly {2}/m);
  expect(text.match(/^ {2}[✓✗–] /gm)).toHaveLength(result.checks.length + result.conditions.length);
  expect(text).toContain("The nuclear norm keeps the rank solution's promise here");
  for (const textLine of text.slice(text.indexOf("What it comes to")).split("\n")) {
    expect([...textLine].length).toBeLessThanOrEqual(100);
  }
});

test("the text says where the nuclear norm breaks the rank solution's promise", () => {
  const text = theoryText(runTheory({ r: 16, gamma: "0.49", lambda: 0.3, bRank: 4, samples: 500 }));
  expect(text).toContain("The nuclear norm breaks the rank solution's promise here");
});

test("numbers are short, and small probabilities outlive underflow", () => {
  expect(short(0.0234998)).toBe("0.0235");
  expect(short(465)).toBe("465");
  expect(short(1.496e-25)).toBe("1.50e-25");
  expect(fromLog10(-412.3)).toBe("5.01e-413");
  expect(fromLog10(Number.NEGATIVE_INFINITY)).toBe("0");
  expect(accuracyText({ accuracy: 1, log10Accuracy: -1e-91, log10Error: -90.2 })).toBe("1 − 6.31e-91");
});

test("the figure's points are the command's numbers, and a model without weights has no point", () => {
  const { setting, outcomes } = runTheory(options);
  const point = figurePoint(setting, setting.gamma, setting.d);
  expect(point.l2).toEqual(outcomes.l2.outOfDomain);
  expect(point.nuclear).toEqual(outcomes.nuclear.outOfDomain);
  expect(point.rank.accuracy).toBe(1);
  const empty = resolveSetting({ ...options, lambda: 5 });
  const points = [figurePoint(empty, 0.3, 18), figurePoint(empty, 0.4, 20)];
  expect(drawFigure(empty, { byGamma: points, byD: points })).not.toContain("nuclear norm</text>");
});

test("the figure is written as SVG and PNG", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-theory-"));
  try {
    const setting = resolveSetting({ r: 40, gamma: "0.48", d: 220 });
    const byGamma = [0.1, 0.48, 0.49].map((gamma) => figurePoint(setting, gamma, 220));
    const byD = [41, 220, 300].map((d) => figurePoint(setting, 0.48, d));
    const paths = await writeTheoryFigure(setting, { byGamma, byD }, folder);
    expect(paths).toEqual([join(folder, "theory-accuracy.svg"), join(folder, "theory-accuracy.png")]);
    const svg = readFileSync(paths[0], "utf8");
    for (const label of ["ERM-ℓ2", "ERM-rank", "nuclear norm", "exp(−r/10)", "d = 220"]) expect(svg).toContain(label);
    expect(statSync(paths[1]).size).toBeGreaterThan(10_000);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the figure's sweeps cover γ up to ½ and d on both sides of the setting's", () => {
  const setting = resolveSetting({ r: 2, gamma: "0.4", d: 9, lambda: 1 });
  const { byGamma, byD } = figurePoints(setting);
  expect(byGamma[0].gamma).toBeCloseTo(0.02, 12);
  expect(byGamma.at(-1)?.gamma).toBeCloseTo(0.498, 12);
  expect(byD.map(({ d }) => d)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
});
