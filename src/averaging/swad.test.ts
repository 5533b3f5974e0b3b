import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { liveTensors } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import type { Follower, FollowerState } from "./follower.js";
import { swad } from "./swad.js";

/** Parameters of an invented trajectory. Each is one number, so that the averages can be computed by hand. */
const bias = (step: number): number => Math.sin(step) * 10;
const weights = (step: number): number[] => [step, step * step, -step];

function parametersAt(step: number): Map<string, Tensor> {
  return new Map([
    ["head.weight", tensor([weights(step)], { dtype: "float64" })],
    ["head.bias", tensor([bias(step)], { dtype: "float64" })],
  ]);
}

const EVERY = 4;
const lossesOfVector = [2, 1, 0.8, 0.6, 0.5, 0.4, 0.45, 0.5, 0.48, 0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2];

/** Trains from a step until the follower returns "stop" or the losses end. Returns the step after the last one. */
function follow(follower: Follower, losses: readonly number[], from = 0, until = Number.POSITIVE_INFINITY): number {
  for (let step = from; step <= (losses.length - 1) * EVERY && step < until; step++) {
    scope(() => follower.afterUpdate(step, parametersAt(step)));
    if (step % EVERY === 0 && follower.atEvaluation(step, losses[step / EVERY]) === "stop") return step + 1;
  }
  return Math.min(until, (losses.length - 1) * EVERY + 1);
}

/** Segment 0 is step 0; segment k covers the EVERY steps up to k·EVERY. */
function segmentMean(k: number, value: (step: number) => number): number {
  if (k === 0) return value(0);
  const steps = Array.from({ length: EVERY }, (_, i) => (k - 1) * EVERY + 1 + i);
  return steps.reduce((total, step) => total + value(step), 0) / EVERY;
}

const meanOf = (segments: readonly number[], value: (step: number) => number): number =>
  segments.reduce((total, k) => total + segmentMean(k, value), 0) / segments.length;

test("the average is the mean of the segments the valley's rules name, each a mean of its updates", () => {
  using follower = swad();
  expect(follow(follower, lossesOfVector)).toBe(16 * EVERY + 1); // the valley ends at the 17th evaluation
  const averaged = [5, 5, 6, 7, 8, 9, 10];
  scope(() => {
    const result = follower.weights();
    expectClose(result.get("head.bias")!, [meanOf(averaged, bias)], { rtol: 1e-12, atol: 1e-12 });
    const expected = [0, 1, 2].map((i) => meanOf(averaged, (step) => weights(step)[i]));
    expectClose(result.get("head.weight")!, [expected], { rtol: 1e-12 });
  });
  expect(follower.summary()).toEqual({ count: 7, of: "segments", from: 4 * EVERY + 1, to: 10 * EVERY });
});

test("with the option to continue, training goes on after the valley is left, and the average does not change", () => {
  using stops = swad();
  using continues = swad({ whenLeft: "continue" } as never); // the former name
  expect(continues.settings.afterValley).toBe("continue");
  follow(stops, lossesOfVector);
  expect(follow(continues, lossesOfVector)).toBe((lossesOfVector.length - 1) * EVERY + 1);
  scope(() => {
    const [one, other] = [stops.weights(), continues.weights()].map((each) => each.get("head.weight")!.bytes());
    expect(other).toEqual(one);
  });
  expect(continues.summary()).toEqual(stops.summary());
});

test("a valley that lasts to the end includes what is still in the queue, and a second call gives the same bytes", () => {
  using follower = swad();
  follow(follower, lossesOfVector.slice(0, 10));
  scope(() => {
    const [once, again] = [follower.weights(), follower.weights()];
    expectClose(once.get("head.bias")!, [meanOf([5, 5, 6, 7, 8, 9], bias)], { rtol: 1e-12, atol: 1e-12 });
    expect(again.get("head.weight")!.bytes()).toEqual(once.get("head.weight")!.bytes());
  });
});

test("without convergence the average is the last segment; before any evaluation there is none", () => {
  using follower = swad();
  expect(() => follower.weights()).toThrow("no average before the first evaluation");
  follow(follower, [3, 2, 1]);
  scope(() => expectClose(follower.weights().get("head.bias")!, [segmentMean(2, bias)], { rtol: 1e-12 }));
  expect(follower.summary()).toEqual({ count: 1, of: "segments", from: EVERY + 1, to: 2 * EVERY });
});

test("the segment found is overwritten by the first that is added", () => {
  using follower = swad({ converge: 3, patience: 3, tolerance: 0 });
  follow(follower, [1, 2.5, 2.5]);
  scope(() => expectClose(follower.weights().get("head.bias")!, [bias(0)], { rtol: 0 })); // the only tensors that remain
  using other = swad({ converge: 3, patience: 3, tolerance: 0 });
  follow(other, [1, 2, 3]);
  scope(() => expectClose(other.weights().get("head.bias")!, [segmentMean(1, bias)], { rtol: 1e-12 }));
});

test("VLCS has a tolerance of 0.2 by default", () => {
  using published = swad();
  using vlcs = swad({}, "vlcs");
  using told = swad({ tolerance: 0.5 }, "vlcs");
  expect([published, vlcs, told].map(({ settings }) => settings.tolerance)).toEqual([0.3, 0.2, 0.5]);
});

test("at most max(Ns, Ne) + 2 copies of the parameters are kept, and none after dispose", () => {
  const before = liveTensors();
  const follower = swad();
  let most = 0;
  for (let step = 0; step < lossesOfVector.length * EVERY; step++) {
    scope(() => follower.afterUpdate(step, parametersAt(step)));
    most = Math.max(most, liveTensors() - before);
    if (step % EVERY === 0 && follower.atEvaluation(step, lossesOfVector[step / EVERY]) === "stop") break;
  }
  expect(most).toBe(2 * (6 + 2)); // two parameters
  expect(liveTensors() - before).toBe(2); // after the end of the valley only the average is kept
  scope(() => void follower.weights());
  follower.dispose();
  expect(liveTensors()).toBe(before);
});

/** Saves and loads the state like a checkpoint: tensors in a file, numbers in JSON. */
function saved({ tensors, numbers }: FollowerState, use: (state: FollowerState) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "nudge-swad-"));
  try {
    const path = join(folder, "follower.safetensors");
    writeWeights(path, tensors);
    scope(() => use({ tensors: readWeights(path), numbers: JSON.parse(JSON.stringify(numbers)) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const bytesOf = (follower: Follower): string[] =>
  scope(() =>
    Array.from(follower.weights(), ([name, each]) => `${name} ${Buffer.from(each.bytes()).toString("hex")}`).sort(),
  );

test("saved and put back at any step it ends in the same bytes", () => {
  using undisturbed = swad();
  const end = follow(undisturbed, lossesOfVector);
  const wanted = bytesOf(undisturbed);
  const before = liveTensors();
  for (let cut = 1; cut < end; cut++) {
    using first = swad();
    follow(first, lossesOfVector, 0, cut);
    using second = swad();
    follow(second, [9, 8], 0); // the previous state is replaced
    saved(first.state(), (state) => second.loadState(state));
    expect(follow(second, lossesOfVector, cut)).toBe(end);
    expect(bytesOf(second), `cut at step ${cut}`).toEqual(wanted);
    expect(second.summary()).toEqual(undisturbed.summary());
  }
  expect(liveTensors()).toBe(before);
});

test("a state that does not fit is refused, and the current state does not change", () => {
  using follower = swad();
  follow(follower, lossesOfVector.slice(0, 8));
  const wanted = bytesOf(follower);
  const before = liveTensors();
  const { tensors, numbers } = follower.state();
  const { threshold: _, ...rest } = numbers;
  const [[firstName]] = tensors;
  for (const state of [
    { tensors, numbers: rest },
    { tensors: new Map(), numbers },
    { tensors: new Map([...tensors, ["foreign.weight", tensors.get(firstName)!]]), numbers },
    { tensors, numbers: {} },
  ]) {
    expect(() => follower.loadState(state)).toThrow(UsageError);
    expect(bytesOf(follower)).toEqual(wanted);
  }
  expect(liveTensors()).toBe(before);
});

test("other parameters than before, or an evaluation without an update, are errors", () => {
  using follower = swad();
  scope(() => follower.afterUpdate(0, parametersAt(0)));
  scope(() => {
    const [[name, value]] = parametersAt(1);
    expect(() => follower.afterUpdate(1, new Map([[name, value]]))).toThrow("1 of 2 parameters");
    expect(() => follower.afterUpdate(1, new Map([...parametersAt(1), ["new", value]]))).toThrow('a new one, "new"');
  });
  follower.atEvaluation(0, 1);
  expect(() => follower.atEvaluation(1, 1)).toThrow("no update since");
});

test("settings are checked, with the nearest name for a mistyped one", () => {
  expect(() => swad({ tolerence: 0.2 })).toThrow('did you mean "tolerance"?');
  expect(() => swad({ converge: "2.5" })).toThrow("swad.converge: expected an integer of at least 1, got");
  using follower = swad({ converge: "4" });
  expect(follower.settings).toEqual({ converge: 4, patience: 6, tolerance: 0.3, afterValley: "stop" });
});
