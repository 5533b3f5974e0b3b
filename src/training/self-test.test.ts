import { expect, test } from "vitest";
import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import { turnsOf } from "../algorithms/turns.js";
import { defaultDevice } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { selfTest } from "./self-test.js";
import { batchOf, learnerOf, networkSetup, SMALL, stepsFor } from "./self-test-setup.js";

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
test("the self-test passes on this machine: kernels, every algorithm three times, predictions, resumes and memory", {
  timeout: 300_000,
}, () => {
  const checks = [...selfTest(defaultDevice(), { updates: 200, networks: [SMALL_NETWORK] })];
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(checks).toHaveLength(3 * Object.keys(algorithms).length + 28 + 3 + 6 + 3 + 1);
});

test("the networks that a GPU is tested with train in bfloat16 with channels last", { timeout: 300_000 }, () => {
  const tiny = { size: 32, rows: 2, steps: [0, 1] };
  const networks = [networkSetup(tiny), networkSetup({ ...tiny, backbone: "resnet50" })];
  const checks = [...selfTest(defaultDevice(), { updates: 20, networks, algorithms: [erm, andMask] })];
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(checks.map(({ name }) => name).filter((name) => name.includes("bf16"))).toEqual([
    "ERM: mobilenet_v2, bf16, channels last",
    "AND-mask: mobilenet_v2, bf16, channels last",
    "ERM: predictions, mobilenet_v2, bf16, channels last",
    "ERM: resnet50, bf16, channels last",
    "ERM: predictions, resnet50, bf16, channels last",
  ]);
});

// Otherwise a check of the small network could fail because of another order of sums.
test("rounding errors of the inputs remain small in every algorithm on the small network", { timeout: 120_000 }, () => {
  const trained = (algorithm: AlgorithmDefinition, isRounded: boolean): { start: Tensor[]; end: Tensor[] } => {
    using learner = learnerOf(SMALL, algorithm, "cpu");
    const weights = (): Tensor[] => [...learner.parameters().values()].map((each) => each.detach().clone());
    const start = weights();
    for (const step of stepsFor(SMALL, algorithm))
      scope(() => {
        const { domains } = batchOf(SMALL, step, "cpu");
        const other = domains.map(({ x, y }, i) => ({ x: x.mul(1 + (i - 1) * 2 ** -23), y }));
        learner.update(isRounded ? other : domains, step);
      });
    return { start, end: weights() };
  };
  for (const algorithm of Object.values(algorithms))
    scope(() => {
      const [expected, got] = [trained(algorithm, false), trained(algorithm, true)];
      const distance = (a: Tensor[], b: Tensor[]): number =>
        Math.hypot(...a.map((each, i) => each.sub(b[i]).norm().item()));
      const moved = distance(expected.end, expected.start);
      expect(distance(got.end, expected.end) / moved, algorithm.title).toBeLessThan(1e-3);
    });
});

test("the updates of every algorithm include enough of each kind to capture and replay it", () => {
  for (const setup of [SMALL, networkSetup()])
    for (const algorithm of Object.values(algorithms)) {
      const counts = new Map<number, number>();
      const turns = turnsOf(algorithm);
      for (const step of stepsFor(setup, algorithm)) counts.set(step % turns, (counts.get(step % turns) ?? 0) + 1);
      expect(Math.min(...counts.values()), algorithm.title).toBeGreaterThanOrEqual(12);
    }
});

test("checks are selected by a part of their name", () => {
  const checks = [...selfTest("cpu", { only: "grouped_CONV", algorithms: [erm] })];
  expect(checks.map(({ name, ok }) => [name.split(",")[0], ok])).toEqual(
    new Array(3).fill(["grouped_conv and its gradients", true]),
  );
  expect([...selfTest("cpu", { only: "no such check", algorithms: [erm] })]).toEqual([]);
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
    ...new Array(28).fill(true), // kernels
    ...[false, false, true, true, false, true], // as on the CPU and replayed; the network
    ...[false, true], // predictions
    ...[false, true, false, true, true], // resumed; on arrays; memory
  ]);
  expect(checks[28].detail).toBe("it cannot be built");
});
