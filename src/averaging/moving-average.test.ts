import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { liveTensors } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { Follower } from "./follower.js";
import { followerNamed, followers } from "./index.js";
import { movingAverage } from "./moving-average.js";

const value = (step: number): number => Math.cos(step * 1.7);
const at = (step: number): Map<string, Tensor> => new Map([["w", tensor([value(step)], { dtype: "float64" })]]);

function feed(follower: Follower, from: number, to: number): void {
  for (let step = from; step < to; step++) scope(() => follower.afterUpdate(step, at(step)));
}

const current = (follower: Follower): number => scope(() => follower.weights().get("w")!.item());

test("the uniform average is the mean of all updates from its start on, and the trained model before", () => {
  using follower = movingAverage({ start: 3 });
  expect(() => follower.weights()).toThrow(UsageError);
  feed(follower, 0, 3);
  expect(current(follower)).toBe(value(2));
  expect(follower.summary()).toEqual({ count: 0, from: 2, to: 2 });
  feed(follower, 3, 10);
  const mean = [3, 4, 5, 6, 7, 8, 9].reduce((total, step) => total + value(step), 0) / 7;
  scope(() => expectClose(follower.weights().get("w")!, [mean], { rtol: 1e-12 }));
  expect(follower.summary()).toEqual({ count: 7, from: 3, to: 9 });
  expect(follower.atEvaluation(9, Number.NaN)).toBe("continue"); // the loss is ignored
});

test("the exponential average keeps `decay` of the past at every update", () => {
  using follower = movingAverage({ kind: "exponential", decay: 0.9, start: 0 });
  feed(follower, 0, 6);
  let expected = value(0);
  for (let step = 1; step < 6; step++) expected = 0.9 * expected + 0.1 * value(step);
  scope(() => expectClose(follower.weights().get("w")!, [expected], { rtol: 1e-12 }));
});

test.each(["uniform", "exponential"])("the %s average resumes bit for bit from a saved state", (kind) => {
  const before = liveTensors();
  {
    using whole = movingAverage({ kind, start: 2 });
    feed(whole, 0, 9);
    for (let cut = 0; cut < 9; cut++) {
      using first = movingAverage({ kind, start: 2 });
      using second = movingAverage({ kind, start: 2 });
      feed(first, 0, cut);
      second.loadState(first.state());
      feed(second, cut, 9);
      expect(current(second)).toBe(current(whole));
    }
    expect(() => whole.loadState({ tensors: new Map(), numbers: { count: 1, lastStep: 1 } })).toThrow(UsageError);
  }
  expect(liveTensors()).toBe(before);
});

test("parameters that need gradients are averaged without a graph", () => {
  using follower = movingAverage({ start: 0 });
  scope(() => {
    const w = tensor([1, 2], { dtype: "float64" }).requiresGrad_();
    follower.afterUpdate(0, new Map([["w", w]]));
    follower.afterUpdate(1, new Map([["w", w]]));
    expect(follower.weights().get("w")!.requiresGrad).toBe(false);
    expect(follower.state().tensors.get("w")!.requiresGrad).toBe(false);
  });
});

test("followers are found by id, which is their file's name", () => {
  expect(Object.keys(followers)).toEqual(["swad", "moving-average", "wise-ft"]);
  for (const [id, definition] of Object.entries(followers)) {
    using follower = definition();
    expect([definition.id, follower.id]).toEqual([id, id]);
    expect(followerNamed(id)).toBe(definition);
  }
  expect(() => followerNamed("swat")).toThrow('did you mean "swad"?');
});
