import { expect, test } from "vitest";
import { availableMemory, memoryNeeded, residentMemory } from "./memory.js";

test("one more run needs what the largest took, besides what the others may still grow by", () => {
  expect(memoryNeeded([], 1e9)).toBeCloseTo(1.1e9);
  expect(memoryNeeded([1e9, 0.4e9], 1e9)).toBeCloseTo(1.1 * (0 + 0.6e9 + 1e9));
});

test("this machine has some memory left, and this process takes some", () => {
  expect(availableMemory()).toBeGreaterThan(1e6);
  expect(residentMemory(process.pid)).toBeGreaterThan(1e6);
  expect(residentMemory(2 ** 22 + 1)).toBe(0);
});
