import { expect, test } from "vitest";
import { keyedDraws } from "../algorithms/draws.js";
import { liveTensors } from "./device.js";
import { empty } from "./ops.generated.js";
import { Random } from "./random.js";
import { DrawRecord, NotCapturable } from "./recorded-random.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** Makes every kind of draw of a step, some of them twice. */
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

test("draws planned in one step and copied in the captured one are, refilled for a step, what that step draws by itself", () => {
  scope(() => {
    const steps = new Random(3, ["step"]);
    using record = new DrawRecord();
    const plain = drawAll(record.planning(steps.for(9))).map((each) => each.toNumbers());
    expect(plain).toEqual(drawAll(steps.for(9)).map((each) => each.toNumbers()));
    for (const step of [10, 11, 500]) {
      record.refill(steps.for(step));
      // As in a replay: first refill the buffers, then run the step's operators, which copy from them.
      const copied = drawAll(record.recording(steps.for(10))).map((each) => each.toNumbers());
      expect(copied).toEqual(drawAll(steps.for(step)).map((each) => each.toNumbers()));
    }
  });
});

test("what is drawn ahead of a replay survives writing over everything the captured step allocated", () => {
  scope(() => {
    const steps = new Random(3, ["step"]);
    using record = new DrawRecord();
    drawAll(record.planning(steps.for(9)));
    for (const target of drawAll(record.recording(steps.for(10)))) target.zero_();
    record.refill(steps.for(11));
    for (const target of drawAll(record.recording(steps.for(10)))) target.zero_();
    const copied = drawAll(record.recording(steps.for(10))).map((each) => each.toNumbers());
    expect(copied).toEqual(drawAll(steps.for(11)).map((each) => each.toNumbers()));
  });
});

test("the places of draws outlive the scope they were planned in, and go with the record", () => {
  const before = liveTensors();
  const record = new DrawRecord();
  const random = new Random(0, ["step", 0]);
  scope(() => void drawAll(record.planning(random)));
  expect(liveTensors()).toBe(before + 7);
  record.refill(random);
  record[Symbol.dispose]();
  expect(liveTensors()).toBe(before);
});

test("a step that draws otherwise than the one planned cannot be captured", () => {
  scope(() => {
    const random = new Random(0, ["step", 0]);
    using record = new DrawRecord();
    record
      .planning(random)
      .next("noise")
      .normal_(empty([2]));
    const captured = (name: string, size: number) => () =>
      record
        .recording(random)
        .next(name)
        .normal_(empty([size]));
    expect(captured("noise", 2)).not.toThrow();
    expect(captured("noise", 3)).toThrow(new NotCapturable("it draws otherwise than the update before (noise)"));
    expect(captured("dropout", 2)).toThrow("it draws otherwise than the update before (dropout)");
  });
});

test("numbers drawn on the host cannot be recorded, and the error names the draw", () => {
  const recording = new DrawRecord().recording(new Random(0, ["step", 0]));
  const draw = keyedDraws(recording.for("algorithm"));
  expect(() => draw.permutation("pairs", 3)).toThrow(NotCapturable);
  expect(() => draw.beta("lambda", 1, 1)).toThrow("it draws numbers on the host (lambda)");
});
