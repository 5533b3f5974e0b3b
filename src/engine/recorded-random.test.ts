import { expect, test } from "vitest";
import { keyedDraws } from "../algorithms/draws.js";
import { empty } from "./ops.generated.js";
import { Random } from "./random.js";
import { DrawRecord, NotCapturable } from "./recorded-random.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** A step's draws of every kind, some of them twice. */
function drawAll(random: Random): Tensor[] {
  const like = tensor([0.5, 0.5]);
  const draw = keyedDraws(random.for("algorithm"));
  const layer = random.for("layers");
  return [
    draw.order("pairs", 5, like),
    draw.betaLike("lambda", 0.2, 0.2, like),
    draw.betaLike("lambda", 0.2, 0.2, like),
    draw.normalLike("noise", like),
    draw.uniformLike("share", [3], like),
    layer.next("dropout").bernoulli_(empty([16]), 0.5),
    layer.next("dropout").bernoulli_(empty([16]), 0.5),
  ];
}

test("recorded draws, refilled for a step, are what that step draws by itself", () => {
  scope(() => {
    const steps = new Random(3, ["step"]);
    using record = new DrawRecord();
    const targets = drawAll(record.recording(steps.for(10)));
    for (const step of [10, 11, 500]) {
      record.refill(steps.for(step));
      const expected = drawAll(steps.for(step)).map((each) => each.toNumbers());
      expect(targets.map((each) => each.toNumbers())).toEqual(expected);
    }
  });
});

test("a recorded draw outlives the scope it was made in, until the record is disposed of", () => {
  const record = new DrawRecord();
  const random = new Random(0, ["step", 0]);
  const target = scope(() => {
    const made = record
      .recording(random)
      .for("noise")
      .normal_(empty([2]));
    return { made };
  }).made;
  record.refill(random);
  expect(target.toNumbers().every(Number.isFinite)).toBe(true);
  record[Symbol.dispose]();
  expect(target.isDisposed).toBe(true);
});

test("numbers drawn on the host cannot be recorded, and the error names the draw", () => {
  const recording = new DrawRecord().recording(new Random(0, ["step", 0]));
  const draw = keyedDraws(recording.for("algorithm"));
  expect(() => draw.permutation("pairs", 3)).toThrow(NotCapturable);
  expect(() => draw.beta("lambda", 1, 1)).toThrow("it draws numbers on the host (lambda)");
});
