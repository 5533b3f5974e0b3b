import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { paperTask, sampleTask, type Task } from "./toy-task.js";

test("the 2-D task is Section 3.1's: x₁ has the label's sign, x₂ agrees with it 0.7 in domain and 0.3 out of it", () => {
  const n = 40_000;
  for (const [domain, agreement] of [
    ["in", 0.7],
    ["out", 0.3],
  ] as const) {
    const { x, y, d } = sampleTask(paperTask, n, domain, 0);
    expect(d).toBe(2);
    let [agrees, positive, invariant] = [0, 0, 0];
    for (let i = 0; i < n; i++) {
      if (x[2 * i] * y[i] >= 0 && Math.abs(x[2 * i]) <= 1) invariant++;
      if (x[2 * i + 1] * y[i] > 0) agrees++;
      if (y[i] > 0) positive++;
    }
    expect(invariant).toBe(n);
    expect(Math.abs(agrees / n - agreement)).toBeLessThan(0.012); // five standard errors
    expect(Math.abs(positive / n - 0.5)).toBeLessThan(0.0125);
  }
});

test("features have the uniform's size whatever their sign, and are independent given the label", () => {
  const n = 40_000;
  const { x, y } = sampleTask(paperTask, n, "in", 1);
  const mean = (f: (i: number) => number) => Array.from({ length: n }, (_, i) => f(i)).reduce((a, b) => a + b) / n;
  for (const j of [0, 1]) {
    expect(Math.abs(mean((i) => Math.abs(x[2 * i + j])) - 0.5)).toBeLessThan(0.0075);
    expect(Math.abs(mean((i) => x[2 * i + j] ** 2) - 1 / 3)).toBeLessThan(0.0075);
  }
  // E[x₁x₂] = E[y x₁]·E[y x₂] = ½·0.2
  expect(Math.abs(mean((i) => x[2 * i] * x[2 * i + 1]) - 0.1)).toBeLessThan(0.0075);
  expect(Math.abs(mean((i) => y[i] * x[2 * i + 1]) - 0.2)).toBeLessThan(0.0135);
});

test("the general task has r invariant features first, then d − r environmental ones", () => {
  const task: Task = { invariant: 3, environmental: 2, agreement: { in: 0.9, out: 0.1 } };
  const n = 5000;
  const { x, y, d } = sampleTask(task, n, "out", 2);
  expect(d).toBe(5);
  const agreement = Array.from(
    { length: d },
    (_, j) => Array.from(y, (label, i) => (x[i * d + j] * label > 0 ? 1 : 0)).reduce<number>((a, b) => a + b, 0) / n,
  );
  expect(agreement.slice(0, 3)).toEqual([1, 1, 1]);
  for (const share of agreement.slice(3)) expect(Math.abs(share - 0.1)).toBeLessThan(0.022);
});

test("a sample is a function of its seed, domain and purpose, and a longer one begins with the shorter", () => {
  const short = sampleTask(paperTask, 10, "in", 4);
  expect([...sampleTask(paperTask, 20, "in", 4).x.slice(0, 20)]).toEqual([...short.x]);
  expect([...sampleTask(paperTask, 10, "in", 5).x]).not.toEqual([...short.x]);
  expect([...sampleTask(paperTask, 10, "in", 4, "test").x]).not.toEqual([...short.x]);
});

test("tasks that make no sense are refused", () => {
  for (const change of [
    { invariant: 0 },
    { environmental: -1 },
    { environmental: 1.5 },
    { agreement: { in: 1.2, out: 0 } },
  ])
    expect(() => sampleTask({ ...paperTask, ...change }, 1, "in", 0)).toThrow(UsageError);
});
