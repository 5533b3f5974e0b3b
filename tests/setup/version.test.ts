import { expect, test } from "vitest";
import { countTests, summaryLine } from "../../scripts/check/count.mjs";
import { checkMachine } from "../../scripts/setup/machine.mjs";
import { atLeast, numbersOf, sameMinor } from "../../scripts/setup/version.mjs";

test("versions are compared as numbers", () => {
  expect(atLeast("v20.20.2", "20.19.0")).toBe(true);
  expect(atLeast("v20.9.0", "20.19.0")).toBe(false);
  expect(atLeast("1.13.0a0", "1.13")).toBe(true);
  expect(atLeast("1.9.1", "1.13")).toBe(false);
  expect(atLeast("2.11.0+cu130", "1.13")).toBe(true);
  expect(atLeast("2", "1.13")).toBe(true);
  expect(numbersOf("unknown")).toEqual([]);
});

test("the patch version may differ between headers and library", () => {
  expect(sameMinor("1.13.1", "1.13.0")).toBe(true);
  expect(sameMinor("1.13", "1.12.0")).toBe(false);
  expect(sameMinor("2.11.0+cu130", "1.11.0")).toBe(false);
});

test("an old Node and another system are refused with advice", () => {
  expect(() => checkMachine({ node: "v18.20.0", platform: "linux" })).toThrow(
    /^Node 20\.19\.0 or newer is needed, this is v18\.20\.0/,
  );
  expect(() => checkMachine({ node: "v22.0.0", platform: "darwin" })).toThrow(/on Linux, this is darwin/);
  expect(() => checkMachine({ node: "v22.0.0", platform: "linux" })).not.toThrow();
});

test("tests are counted, and a file that does not load counts as a failure", () => {
  const file = (status: string, ...results: string[]) => ({
    status,
    assertionResults: results.map((s) => ({ status: s })),
  });
  const report = {
    testResults: [file("passed", "passed", "skipped"), file("failed", "failed", "passed"), file("failed")],
  };
  expect(summaryLine(countTests(report))).toBe("2 passed, 2 failed, 1 skipped");
  expect(summaryLine(countTests({ testResults: [file("passed", "passed")] }))).toBe("1 passed, 0 failed");
});
