import { expect, test } from "vitest";
import { keyedRandom } from "../engine/philox.js";
import { EngineError, UsageError } from "../errors.js";
import { LossValley, type Segment, type ValleySettings } from "./loss-valley.js";

const published = { converge: 3, patience: 6, tolerance: 0.3 };

type Numbered = Segment & { readonly id: number };

interface Outcome {
  /** The indices of the averaged segments, in the order in which they were added. */
  averaged: number[];
  converged?: number;
  threshold?: number;
  /** The index of the evaluation at which the valley ended. */
  dead?: number;
}

const segment = (id: number, loss: number): Numbered => ({ id, startStep: id * 10 - 9, endStep: id * 10, loss });

/** Applies the rules to losses of evaluations that are 10 steps apart, until the losses or the valley end. */
function simulate(losses: readonly number[], settings: ValleySettings = published): Outcome {
  let valley = new LossValley<Numbered>(settings);
  const averaged: number[] = [];
  let kept: number | undefined;
  let dead: number | undefined;
  for (const [id, loss] of losses.entries()) {
    const { start, add } = valley.push(segment(id, loss));
    kept = start?.id ?? kept;
    averaged.push(...add.map((each) => each.id));
    if (valley.state.dead) {
      dead = id;
      break;
    }
    // Save and restore the state after every evaluation, to show that the state is complete.
    const { state } = valley;
    valley = new LossValley<Numbered>(settings);
    valley.state = state;
  }
  const { start, add } = valley.finish();
  averaged.push(...add.map((each) => each.id));
  const last = start?.id ?? kept;
  if (averaged.length === 0 && last !== undefined) averaged.push(last);
  const { convergeStep, threshold } = valley.state;
  return { averaged, converged: convergeStep === undefined ? undefined : convergeStep / 10, threshold, dead };
}

const sorted = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b);

test("a valley that is left: the average ends before the losses above the threshold", () => {
  const losses = [2, 1, 0.8, 0.6, 0.5, 0.4, 0.45, 0.5, 0.48, 0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2];
  const { averaged, converged, threshold, dead } = simulate(losses);
  expect({ averaged, converged, dead }).toEqual({ averaged: [5, 5, 6, 7, 8, 9, 10], converged: 5, dead: 16 }); // at the 17th evaluation
  expect(threshold).toBeCloseTo(0.585, 12); // (0.4 + 0.45 + 0.5)/3 · 1.3
});

test("a valley that lasts: what is still in the queue is added at the end", () => {
  const outcome = simulate([2, 1, 0.8, 0.6, 0.5, 0.4, 0.45, 0.5, 0.48, 0.46, 0.44]);
  expect(outcome).toMatchObject({ averaged: [5, 5, 6, 7, 8, 9, 10], converged: 5, dead: undefined });
});

test("a loss that falls steeply into the valley: no segment before it is averaged, and none twice", () => {
  const outcome = simulate([2, 1.5, 1.2, 0.4, 0.45, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
  expect(outcome).toMatchObject({ averaged: [3, 4, 5, 6, 7, 8, 9, 10], converged: 3, dead: undefined });
});

test("convergence before the queue is full: the first segments are averaged several times, as in the official code", () => {
  const outcome = simulate([0.5, 0.6, 0.7, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
  expect(outcome).toMatchObject({ averaged: [1, 2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], converged: 0, dead: undefined });
  expect(outcome.threshold).toBeCloseTo(0.78, 12); // 0.6 · 1.3
});

test("a loss that falls to the end never converges: the last segment is all", () => {
  expect(simulate([5, 4, 3, 2, 1])).toEqual({ averaged: [4], converged: undefined, threshold: undefined });
  expect(simulate([1, 2])).toMatchObject({ averaged: [1], converged: undefined });
});

test("with Ne = Ns nothing is added at convergence, so the segment found stands for the average until one is", () => {
  const settings = { converge: 3, patience: 3, tolerance: 0 };
  expect(simulate([1, 2, 3], settings).averaged).toEqual([1]); // threshold 2
  // Both later losses are above the threshold of 2, so this segment is the whole average.
  expect(simulate([1, 2.5, 2.5], settings).averaged).toEqual([0]);
});

/** The rules of the reference, section 6.2, implemented literally: two queues that drop their oldest item. */
function byTheText(losses: readonly number[], { converge, patience, tolerance }: ValleySettings): Outcome {
  const converging: Numbered[] = [];
  const smoothing: Numbered[] = [];
  const averaged: number[] = [];
  let found: Numbered | undefined;
  let threshold = 0;
  let dead: number | undefined;
  const minimum = (): number => Math.min(...smoothing.map(({ loss }) => loss));
  for (let id = 0; id < losses.length && dead === undefined; id++) {
    const each = segment(id, losses[id]);
    if (converging.push(each) > converge) converging.shift();
    if (smoothing.push(each) > patience) smoothing.shift();
    if (found) {
      if (smoothing[0].endStep < found.endStep) continue;
      if (minimum() > threshold) dead = id;
      else averaged.push(smoothing[0].id);
    } else if (converging.length === converge) {
      const least = Math.min(...converging.map(({ loss }) => loss));
      if (converging.findIndex(({ loss }) => loss === least) !== 0) continue;
      [found] = converging;
      threshold = (converging.reduce((total, { loss }) => total + loss, 0) / converge) * (1 + tolerance);
      if (patience < converge) {
        for (let i = 1; i <= converge - patience; i++) averaged.push(converging[i].id);
      } else if (patience > converge) {
        const first = smoothing.slice(0, patience - converge + 1);
        let s = 0;
        for (let i = first.length - 1; i >= 0 && s === 0; i--) if (first[i].loss > threshold) s = i + 1;
        for (let i = s + 1; i < first.length; i++) averaged.push(first[i].id);
      }
    }
  }
  if (!found) return { averaged: losses.length > 0 ? [losses.length - 1] : [] };
  if (dead === undefined) {
    smoothing.shift();
    while (smoothing.length > 0 && minimum() <= threshold) averaged.push(smoothing.shift()!.id);
  }
  if (averaged.length === 0) averaged.push(found.id);
  return { averaged, converged: found.id, threshold, dead };
}

test("on random losses and settings the rules agree with the text, with saves in between, and keep few segments", () => {
  const random = keyedRandom(0, "loss valley");
  let deaths = 0;
  for (let trial = 0; trial < 2000; trial++) {
    const settings = {
      converge: 1 + random.integer(6),
      patience: 1 + random.integer(8),
      tolerance: random.uniform(0, 0.5),
    };
    const coarse = random.bernoulli(0.4); // few values, many ties
    let level = 2;
    const losses = Array.from({ length: 1 + random.integer(30) }, () => {
      level *= random.uniform(0.7, 1.3);
      return coarse ? (1 + random.integer(5)) / 5 : level;
    });
    const outcome = simulate(losses, settings);
    expect(outcome, JSON.stringify({ settings, losses })).toEqual({
      converged: undefined,
      threshold: undefined,
      dead: undefined,
      ...byTheText(losses, settings),
    });
    if (outcome.dead !== undefined) deaths++;
    // The average contains only existing segments, and none after the end of the valley.
    expect(outcome.averaged.every((id) => id <= (outcome.dead ?? losses.length - 1))).toBe(true);
  }
  expect(deaths).toBeGreaterThan(100);
});

test("never more than max(Ns, Ne) segments are kept, and none once the valley is dead", () => {
  for (const [converge, patience] of [
    [3, 6],
    [6, 3],
    [1, 1],
  ]) {
    const valley = new LossValley<Numbered>({ converge, patience, tolerance: 0 });
    for (let id = 0; id < 20; id++) {
      valley.push(segment(id, 1 + id));
      expect(valley.state.recent.length).toBeLessThanOrEqual(Math.max(converge, patience));
    }
    expect(valley.state).toMatchObject({ dead: true, recent: [] });
    expect(valley.push(segment(20, 0))).toEqual({ add: [] });
  }
});

test("finish() can be called again, with the same result", () => {
  const valley = new LossValley<Numbered>(published);
  [1, 0.5, 0.6, 0.7, 0.6].forEach((loss, id) => void valley.push(segment(id, loss)));
  const once = valley.finish();
  expect(sorted(once.add.map(({ id }) => id))).toEqual([1, 2, 3, 4]);
  expect(valley.finish()).toEqual(once);
});

test("a loss that is not finite is an error that contains the step", () => {
  const valley = new LossValley<Numbered>(published);
  expect(() => valley.push(segment(3, Number.NaN))).toThrow(EngineError);
  expect(() => valley.push(segment(3, Number.NaN))).toThrow("the validation loss at step 30 is NaN");
});

test("settings that make no sense are refused", () => {
  expect(() => new LossValley({ ...published, converge: 0 })).toThrow(UsageError);
  expect(() => new LossValley({ ...published, patience: 1.5 })).toThrow("patience");
  expect(() => new LossValley({ ...published, tolerance: -1 })).toThrow("tolerance");
});
