import { expect, test } from "vitest";
import { startText } from "../cli/bench-start.js";
import { benchStart, startWays, timeStart } from "./start.js";

test("the start of a process is timed part by part", () => {
  const times = timeStart({ backbone: "mobilenet_v2", batch: 1, device: "cpu" });
  for (const seconds of [times.engine, times.firstForward, times.firstBackward, times.secondStep, times.evaluation])
    expect(seconds).toBeGreaterThan(0);
  expect(times.capture).toBe(0);
  expect(times.stepMs).toBeGreaterThan(1);
});

test("each variant runs in a process with its environment, and is a row of the table", () => {
  const times = { engine: 1, device: 0, kernels: 0.5, network: 0, firstForward: 2, firstBackward: 3 };
  const rest = { secondStep: 0, evaluation: 0, capture: 0 };
  const script = `const t = ${JSON.stringify({ ...times, ...rest })};
    console.log(JSON.stringify({ ...t, stepMs: Number(process.env.NUDGE_CUDNN_TRIALS) }))`;
  const options = { backbone: "resnet50", batch: 96, device: "cuda:0", ways: ["heuristic", "trials-3"] };
  const result = benchStart(options, [process.execPath, "-e", script]);
  expect(result.rows.map(({ times: { stepMs } }) => stepMs)).toEqual([0, 3]);
  const [title, , , last] = startText(result).split("\n");
  expect(title).toContain("resnet50 in bf16, batch size 96, cuda:0");
  expect(last).toMatch(/the fastest of 3 plans.* 5\.50 +3\.00$/);
});

test("an unknown variant and a process that fails are errors", () => {
  const options = { backbone: "resnet50", batch: 1, device: "cpu" };
  expect(() => benchStart({ ...options, ways: ["guess"] }, ["false"])).toThrow('unknown way "guess"');
  expect(() => benchStart({ ...options, ways: [startWays()[0]] }, ["false"])).toThrow("the process failed");
});
