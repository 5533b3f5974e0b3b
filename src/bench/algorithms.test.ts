import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { algorithms } from "../algorithms/index.js";
import { algorithmsText } from "../cli/bench-algorithms.js";
import { liveTensors } from "../engine/device.js";
import { zeros } from "../engine/ops.generated.js";
import { benchAlgorithms } from "./algorithms.js";

const quick = { backbone: "toy-cnn", batch: 4, device: "cpu", repeats: 1 };

test("all algorithms are timed next to ERM, with no more passes than the public code, and no tensors remain", () => {
  const before = liveTensors();
  const { rows } = benchAlgorithms({ ...quick, algorithm: "all" });
  expect(liveTensors()).toBe(before);
  expect(rows.map(({ id }) => id)).toEqual(Object.keys(algorithms));
  for (const { title, ms, ermMs, ratio, peak, ermPeak, passes, reference } of rows) {
    expect(Math.min(ms, ermMs, ratio!, peak, ermPeak), title).toBeGreaterThan(0);
    expect(passes.forward, title).toBeLessThanOrEqual(reference.forward);
    expect(passes.backward, title).toBeLessThanOrEqual(reference.backward);
  }
  const passes = Object.fromEntries(rows.map(({ id, passes: { forward, backward } }) => [id, [forward, backward]]));
  expect(passes).toMatchObject({
    erm: [1, 1],
    "and-mask": [1, 1],
    mixup: [1, 1],
    dann: [1, 0.5], // every second update trains the discriminator
    mldg: [2, 2],
    "sag-net": [3, 2],
    sam: [2, 2],
    mdsdi: [6, 4],
    miro: [2, 1],
  });
  const page = readFileSync(join(import.meta.dirname, "../../docs/algorithms.md"), "utf8");
  const cells =
    /^\| ([^|]+) \| (?:[\d.]+×|not measured) \| (?:[\d.]+×|not measured) \| ([\d.]+ \+ [\d.]+|not measured) \|/gm;
  const listed = new Map([...page.matchAll(cells)].map(([, title, count]) => [title, count]));
  const counted = rows.map(({ title, passes: { forward, backward } }) => [
    title,
    [forward, backward].map((each) => Number(each.toFixed(2))).join(" + "),
  ]);
  expect([...listed.keys()]).toEqual(rows.map(({ title }) => title)); // all methods have a row
  for (const [title, count] of counted)
    if (listed.get(title) !== "not measured") expect([title, listed.get(title)]).toEqual([title, count]);
});

test("the text has a line per algorithm and says which passes are saved", () => {
  const text = algorithmsText(benchAlgorithms({ ...quick, algorithm: "SagNet" }));
  expect(text).toMatch(/^ {2}SagNet +[\d.]+ +[\d.]+× +[\d.]+ +[\d.]+× +3 \+ 2 +3 \+ 3 +[\d.]+×$/m);
  expect(text).toContain("SagNet: no backward pass through the backbone for the style head");
});

test("methods that pass domain by domain are listed with the time of ERM on one domain at a time", () => {
  const result = benchAlgorithms({ ...quick, algorithm: "fish,mixup,mldg" });
  expect(result.rows.map(({ byDomain }) => byDomain)).toEqual([true, false, true]);
  expect(result.byDomainRatio).toBeGreaterThan(0.3);
  expect(algorithmsText(result)).toMatch(
    /one domain per pass: Fish, MLDG; 3 updates of ERM with one domain each take [\d.]+× the time of one with all/,
  );
  expect(benchAlgorithms({ ...quick, algorithm: "mixup" }).byDomainRatio).toBeUndefined();
});

test("memory that was in use before is not counted as that of an algorithm", () => {
  const peaks = (): number[] =>
    benchAlgorithms({ ...quick, algorithm: "SagNet" }).rows.flatMap((row) => [row.peak, row.ermPeak]);
  const alone = peaks();
  using held = zeros([25_000_000]); // 100 MB, a hundred times what these updates take
  expect(held.numel * 4).toBeGreaterThan(20 * Math.max(...alone));
  for (const [i, peak] of peaks().entries()) expect(peak / alone[i]).toBeCloseTo(1, 1);
});

test("an unknown algorithm is refused with the nearest name", () => {
  expect(() => benchAlgorithms({ ...quick, algorithm: "sagnett" })).toThrow('unknown algorithm "sagnett"');
});
