import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { type WiseFt, wiseFt } from "./wise-ft.js";

const parameters = (value: number): Map<string, Tensor> => new Map([["w", tensor([value])]]);
const numberOf = (weights: Map<string, Tensor>): number => weights.get("w")!.item();

test("the weights lie on the line from the start to the mean of the updates", () => {
  scope(() => {
    using follower = wiseFt({ coefficient: 0.25, start: 1 }) as WiseFt;
    follower.begin(parameters(10));
    for (const [step, value] of [100, 2, 4].entries()) follower.afterUpdate(step, parameters(value));
    expect(numberOf(follower.weights())).toBe(10 + 0.25 * (3 - 10)); // the mean of steps 1 and 2 is 3
    expect([0, 0.5, 1].map((at) => numberOf(follower.weightsAt(at)))).toEqual([10, 6.5, 3]);
    expect(follower.summary()).toEqual({ count: 2, from: 1, to: 2 });
  });
});

test("before the mean begins, the fine-tuned end is the last update", () => {
  scope(() => {
    using follower = wiseFt({ coefficient: 1, start: 100 });
    follower.begin?.(parameters(0));
    follower.afterUpdate(0, parameters(8));
    expect(numberOf(follower.weights())).toBe(8);
  });
});

test("a saved state resumes as if there had been no interruption", () => {
  scope(() => {
    using first = wiseFt({ start: 0 });
    first.begin?.(parameters(1));
    first.afterUpdate(0, parameters(2));
    using second = wiseFt({ start: 0 });
    const { tensors, numbers } = first.state();
    second.loadState({ tensors: new Map([...tensors].map(([name, each]) => [name, each.clone()])), numbers });
    for (const follower of [first, second]) follower.afterUpdate(1, parameters(6));
    expect(numberOf(second.weights())).toBe(numberOf(first.weights()));
    expect(numberOf(second.weights())).toBe(2.5); // halfway from 1 to the mean of 2 and 6
  });
});

test("without the starting weights there is nothing to interpolate with", () => {
  scope(() => {
    using follower = wiseFt({});
    expect(() => follower.afterUpdate(0, parameters(1))).toThrow(UsageError);
    expect(() => wiseFt({ coefficient: 1.5 })).toThrow("coefficient");
  });
});
