import { describe, expect, test } from "vitest";
import { UsageError } from "../../errors.js";
import { defaultsOf } from "../../options.js";
import { rateFactor } from "../define-schedule.js";
import { scheduleNamed } from "./index.js";

const factors = (id: string, steps: number, warmupSteps = 0, given: object = {}): ((step: number) => number) => {
  const schedule = scheduleNamed(id);
  return rateFactor(schedule, { steps, warmupSteps, options: { ...defaultsOf(schedule.options), ...given } });
};

test("cosine with a warm-up is that of WiSE-FT and model soups", () => {
  const at = factors("cosine", 20, 5);
  const expected = { 0: 0.2, 4: 1, 5: 1, 10: 0.75, 12: 0.552264, 19: 0.010926 };
  for (const [step, value] of Object.entries(expected)) expect(at(Number(step)), step).toBeCloseTo(value, 6);
});

test("constant stays, and rises first where there is a warm-up", () => {
  expect([0, 1, 2, 3, 9].map(factors("constant", 10, 2))).toEqual([0.5, 1, 1, 1, 1]);
});

test("step changes after every period, given in updates or as a share of the run", () => {
  const at = factors("step", 9, 0, { period: 3, decay: 0.5 });
  expect([0, 2, 3, 5, 6, 8].map(at)).toEqual([1, 1, 0.5, 0.5, 0.25, 0.25]);
  expect([0, 2, 3, 8].map(factors("step", 9, 0, { decay: 0.5 }))).toEqual([1, 1, 0.5, 0.25]);
});

test("one cycle is PyTorch's OneCycleLR", () => {
  // torch 1.13: OneCycleLR(SGD(…, lr=1), max_lr=1, total_steps=10), the rates of its ten steps.
  const expected = [
    0.04, 0.52, 1, 0.950484632013, 0.81174565395, 0.611262021936, 0.388741978064, 0.18825834605, 0.0495193679865, 4e-6,
  ];
  const at = factors("one-cycle", 10);
  for (const [step, value] of expected.entries()) expect(at(step), String(step)).toBeCloseTo(value, 9);
});

test("a schedule that does not fit the run is refused", () => {
  expect(() => factors("cosine", 10, 10)).toThrow(UsageError);
  expect(() => factors("cosine", 10, 10)).toThrow("warmupSteps 10: the run has 10 steps");
  expect(() => factors("step", 10, 0, { period: 10 })).toThrow("the learning rate would never change");
  expect(() => scheduleNamed("cosin")).toThrow('did you mean "cosine"?');
});

describe("plateau", () => {
  const schedule = scheduleNamed("plateau");
  const options = defaultsOf(schedule.options) as never;
  const losses = [1, 0.9, 0.95, 0.93, 0.92, 0.91, 0.89, 0.9, 0.9].map((loss, i) => ({ step: 300 * i, loss }));

  test("the learning rate falls and the run ends where DomainBed's loop for ERM++ does", () => {
    // PyTorch's ReduceLROnPlateau(factor=0.1, patience=1): 5e-6 at the 4th evaluation, 5e-7 at the 6th, 5e-8 at the 9th.
    const at = (step: number): number => schedule.factor(step, 5001, options, losses);
    expect([0, 900, 901, 1500, 1501, 2399].map(at)).toEqual([1, 1, 0.1, 0.1, 0.1 ** 2, 0.1 ** 2]);
    expect(losses.map((_, i) => schedule.follow!(losses.slice(0, i + 1), options).isOver)).toEqual([
      ...new Array(8).fill(false),
      true,
    ]);
  });

  test("another run repeats the rates without evaluations, up to the last evaluation before the end", () => {
    const { last, repeated } = schedule.follow!(losses, options);
    expect({ last, repeated }).toEqual({ last: 2100, repeated: { drops: "900,1500" } });
    const again = { ...(options as object), ...repeated } as never;
    for (const step of [0, 900, 901, 1500, 1501, 2100])
      expect(schedule.factor(step, 2101, again, [])).toBe(schedule.factor(step, 5001, options, losses));
    expect(schedule.follow!(losses, again)).toEqual({ isOver: false, repeated });
    expect(schedule.follow!(losses.slice(0, 3), options)).toEqual({ isOver: false, repeated: { drops: "none" } });
  });

  test("early evaluations are ignored, and steps count from the end of the warm-up", () => {
    const late = { ...(options as object), from: 600 } as never;
    expect(schedule.follow!(losses.slice(0, 4), late).repeated).toEqual({ drops: "none" });
    const at = rateFactor(schedule, { steps: 5001, warmupSteps: 100, options, losses });
    expect([50, 900, 901].map(at)).toEqual([0.51, 1, 0.1]);
  });

  test("other texts than steps are refused", () => {
    expect(() => factors("plateau", 10, 0, { drops: "3,x" })).toThrow("plateau.drops 3,x: expected steps");
  });
});
