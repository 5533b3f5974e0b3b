import { expect, test } from "vitest";
import { algorithms } from "../algorithms/index.js";
import { defaultDevice } from "../engine/device.js";
import { selfTest } from "./self-test.js";
import { networkSetup } from "./self-test-setup.js";

const { erm, "and-mask": andMask } = algorithms;

// Channels last as on a GPU, but in float32: libtorch 1.13 has no second derivatives of bfloat16 convolutions on a CPU
// (IGA).
const SMALL_NETWORK = networkSetup({
  backbone: "toy-cnn",
  size: 8,
  precision: "float32",
  steps: [0, 1, 2000, 2001],
});

// Runs on any device: on the CPU updates are never replayed, and summing their scalars must not change anything.
test("the self-test passes on this machine: kernels, every algorithm three times, resumes and memory", {
  timeout: 300_000,
}, () => {
  const checks = [...selfTest(defaultDevice(), { updates: 200, networks: [SMALL_NETWORK] })];
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(checks).toHaveLength(3 * Object.keys(algorithms).length + 20 + 6 + 1);
});

test("the networks that a GPU is tested with train in bfloat16 with channels last", { timeout: 300_000 }, () => {
  const tiny = { size: 32, rows: 2, steps: [0, 1] };
  const networks = [networkSetup(tiny), networkSetup({ ...tiny, backbone: "resnet50" })];
  const checks = [...selfTest(defaultDevice(), { updates: 20, networks, algorithms: [erm, andMask] })];
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(checks.map(({ name }) => name).filter((name) => name.includes("bf16"))).toEqual([
    "ERM: mobilenet_v2, bf16, channels last",
    "AND-mask: mobilenet_v2, bf16, channels last",
    "ERM: resnet50, bf16, channels last",
  ]);
});

test("a check that throws has failed, and is the last one if the device no longer computes", () => {
  const checks = [...selfTest("cuda:99")];
  expect(checks).toHaveLength(1);
  expect(checks[0]).toMatchObject({ name: "kernel bias_clamp and its gradients", ok: false });
  expect(checks[0].detail).toMatch(/^.*cuda:99.*; cuda:99 computes no more: nothing after it was looked at$/);
});

test("after a check that ends with an error the others follow, as long as the device computes", () => {
  const broken = {
    ...erm,
    title: "broken",
    build: () => {
      throw new Error("it cannot be built");
    },
  };
  const checks = [...selfTest("cpu", { updates: 20, networks: [SMALL_NETWORK], algorithms: [broken, erm] })];
  expect(checks.map(({ ok }) => ok)).toEqual([
    ...new Array(20).fill(true), // kernels
    ...[false, false, true, true, false, true], // as on the CPU and replayed; the network
    ...[false, true, true], // resumed; memory
  ]);
  expect(checks[20].detail).toBe("it cannot be built");
});
