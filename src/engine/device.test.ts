import { expect, test } from "vitest";
import { EngineError } from "../errors.js";
import {
  defaultDevice,
  devices,
  liveTensors,
  memory,
  resetPeakMemory,
  setBlasThreads,
  setFlag,
  setThreads,
  synchronize,
  threads,
} from "./device.js";
import { loadNative } from "./load.js";
import { zeros } from "./ops.generated.js";
import { scope } from "./scope.js";
import { tensor } from "./tensor.js";

test("the CPU comes first, and a GPU is the default where there is one", () => {
  const all = devices();
  expect(all[0]).toBe("cpu");
  expect(defaultDevice()).toBe(all[1] ?? "cpu");
  for (const device of all) {
    synchronize(device);
    scope(() => expect(zeros([2], { device }).add(1).toNumbers()).toEqual([1, 1]));
  }
});

test("memory in use is counted to the byte's order, with its peak", () => {
  const before = memory().used;
  resetPeakMemory();
  scope(() => {
    zeros([1000, 1000]);
    const now = memory();
    expect(now.used - before).toBeGreaterThanOrEqual(4e6);
    expect(now.used - before).toBeLessThan(4.1e6);
  });
  expect(memory().used).toBe(before);
  expect(memory().peak - before).toBeGreaterThanOrEqual(4e6);
  resetPeakMemory();
  expect(memory().peak).toBe(memory().used);
});

test("live tensors are counted", () => {
  const before = liveTensors();
  const x = tensor([1]);
  const y = x.view(1, 1);
  expect(liveTensors()).toBe(before + 2);
  x.dispose();
  y.dispose();
  expect(liveTensors()).toBe(before);
});

test("the memory limit is an error with the sizes in it, and what failed leaves nothing behind", () => {
  const native = loadNative();
  const { limit, used } = memory();
  native.setMemoryLimit(used + 1_000_000);
  try {
    scope(() => {
      zeros([100_000]);
      expect(() => zeros([300_000])).toThrow(/out of memory: 0\.0 GB asked for.*NUDGE_MEMORY_GB raises it/);
    });
  } finally {
    native.setMemoryLimit(limit!);
  }
  expect(memory().used).toBe(used);
  expect(() => native.setMemoryLimit(0)).toThrow(EngineError);
});

test("threads can be set, within reason", () => {
  const before = threads();
  setThreads(1);
  expect(threads()).toBe(1);
  setThreads(before);
  expect(threads()).toBe(before);
  for (const wrong of [0, -1, 1.5, 1e6, Number.NaN])
    expect(() => setThreads(wrong), String(wrong)).toThrow(EngineError);
});

test("setting the threads of the BLAS returns the previous number, or 0 if it has none", () => {
  const before = setBlasThreads(1);
  expect(setBlasThreads(Math.max(1, before))).toBe(before === 0 ? 0 : 1);
  expect(() => setBlasThreads(0)).toThrow(EngineError);
});

test("flags are known by name", () => {
  setFlag("flush-denormals", true);
  scope(() => expect(tensor([1e-40]).mul(1).item()).toBe(0));
  setFlag("flush-denormals", false);
  scope(() => expect(tensor([1e-40]).mul(1).item()).toBeGreaterThan(0));
  expect(() => setFlag("fast" as never, true)).toThrow('unknown flag "fast" (known: tf32');
});

test("a device that does not exist is an error", ({ skip }) => {
  skip(loadNative().info().cuda, "skipped: there is a GPU");
  // Printed without a stack, because the operator is "load" (src/cli/failure.ts).
  for (const ask of [memory, resetPeakMemory])
    expect(() => ask("cuda:0")).toThrow(
      expect.objectContaining({ operator: "load", message: expect.stringMatching(/^cuda:0: .*\(see nudge doctor\)$/) }),
    );
  expect(() => synchronize("cuda:0")).toThrow(EngineError);
  expect(() => synchronize("gpu")).toThrow(EngineError);
});
