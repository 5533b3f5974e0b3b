import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { rowsOf, tableOf } from "../../scripts/benchmarks/rows.mjs";

const root = new URL("../..", import.meta.url).pathname;

test("the pages of benchmarks are generated from the stored records", () => {
  expect(() =>
    execFileSync(process.execPath, ["scripts/make-benchmarks.mjs", "--check"], { cwd: root, stdio: "pipe" }),
  ).not.toThrow();
});

const kept = (result: object) => ({ command: "nudge bench", busy: 0, seconds: 1, result });
const columns = (benchmarks: Parameters<typeof rowsOf>[0]) =>
  rowsOf(benchmarks).map(({ peer, theirs, ours, ratio, target, reached }) => [
    ...[peer, theirs, ours, ratio?.toFixed(2), target, reached],
  ]);

test("on the CPU, the target of a step is PyTorch's time, and five sixths of it with folded batch norm", () => {
  const ours = [
    { title: "plain", ms: 100, ratio: 0.99 },
    { title: "folded batch norm", ms: 80, ratio: 1.25 },
    { title: "folded, channels last", ms: 95, ratio: 1.042 },
  ];
  const step = { backbone: "resnet50", batch: 8, device: "cpu", ours, peer: [{ title: "PyTorch eager", ms: 99 }] };
  expect(columns({ "step-resnet50-8": kept(step) })).toEqual([
    ["PyTorch eager", "99.0 ms", "100 ms", "0.99", "≥ 1.0×", false],
    ["PyTorch eager", "99.0 ms", "80.0 ms", "1.25", "≥ 1.2×", true],
    ["PyTorch eager", "99.0 ms", "95.0 ms", "1.04", "≥ 1.2×", false],
  ]);
});

test("the row of a step that users get is marked", () => {
  const ours = [{ title: "plain", ms: 2 }, { title: "folded, channels last", ms: 1, command: "nudge train" }]; // biome-ignore format: short
  const step = { backbone: "mobilenet_v2", batch: 8, device: "cpu", ours, peer: [] };
  expect(rowsOf({ "step-mobilenet_v2-8": kept(step) }).map(({ work }) => work)).toEqual([
    "MobileNetV2 step, batch 8, plain",
    "MobileNetV2 step, batch 8, folded, channels last, as nudge train runs it",
  ]);
});

test("on a GPU, the step is captured and compared with each mode of PyTorch", () => {
  const step = {
    ...{ backbone: "mobilenet_v2", batch: 96, device: "cuda:0" },
    ours: [{ title: "plain", ms: 30 }, { title: "the same, captured graph", ms: 12.5 }], // biome-ignore format: short
    peer: [{ title: "eager", ms: 25 }, { title: "compiled", ms: 20 }], // biome-ignore format: short
  };
  expect(columns({ "step-mobilenet_v2-96": kept(step) })).toEqual([
    ["eager", "25.0 ms", "12.5 ms", "2.00", "≤ 6.3 ms", false],
    ["compiled", "20.0 ms", "12.5 ms", "1.60", "≤ 6.3 ms", false],
  ]);
});

test("training on a GPU has targets for time, waiting and evaluation", () => {
  const train = {
    ...{ dataset: "PACS", pictures: 9991, method: "ERM", backbone: "resnet50", device: "cuda:0", precision: "bf16" },
    ...{ batch: 96, ours: { stepMs: 20, waitMs: 3, updateMs: 18.9, share: 0.15, evaluationSeconds: 4 } },
    peer: { stepMs: 70, evaluationSeconds: 18, stepRatio: 3.5, evaluationRatio: 4.5 },
  };
  const loop = "DomainBed's loop";
  expect(columns({ "train-resnet50-erm": kept(train) })).toEqual([
    [loop, "70.0 ms", "20.0 ms", "3.50", "≤ 25 ms", true],
    ["—", "—", "1.10 ms (5.5 %)", undefined, "< 5 %", false],
    [loop, "18.0 s", "4.0 s", "4.50", "≤ 0.45 s", false],
  ]);
});

test("a sweep shows the shared work of its runs, and large data is compared with pictures in memory", () => {
  const sweep = {
    dataset: "PACS",
    backbone: "mobilenet_v2",
    steps: 501,
    runs: [{}, {}],
    lost: { first: 12, others: 3 },
  };
  expect(columns({ sweep: kept(sweep) })).toEqual([["the first run", "12.0 s", "3.0 s", "4.00", undefined, undefined]]);
  const { runs, lost, ...same } = sweep;
  const parallel = { ...same, steps: 2001, evaluateEvery: 100, workers: 3, runs: 4, seconds: 92 };
  expect(columns({ "sweep-parallel": kept(parallel) })).toEqual([["—", "—", "23.0 s", undefined, "≤ 22.5 s", false]]);
  const data = { backbone: "resnet50", device: "cuda:0", batch: 96, ratio: 1.2 };
  const timed = { inMemory: { stepMs: 20 }, decoded: { stepMs: 24 } };
  expect(columns({ data: kept({ ...data, ...timed }) })).toEqual([
    ["pictures in memory", "20.0 ms", "24.0 ms", "0.83", "≤ 1.15× the peer", false],
  ]);
});

test("the penalty uses the route of training: captured on a GPU, the default on the CPU", () => {
  const way = (ms: number) => ({ ms, ratio: 0, valueError: 0 });
  const shape = (rows: number, width: number) => ({
    ...{ rows, width, svdMs: 8, peerMs: rows },
    routes: [{ route: "svd", automatic: false, ...way(1) }, { route: "gram", automatic: true, ...way(20) }], // biome-ignore format: short
  });
  const shapes = [shape(96, 2048), shape(32, 512)];
  expect(columns({ "nuclear-norm": kept({ device: "cpu", shapes }) })).toEqual([
    ["torch.svd", "96.0 ms", "20.0 ms", "4.80", "≤ 3 ms and ≥ 4.0×", false],
    ["torch.svd", "32.0 ms", "20.0 ms", "1.60", "≥ 1.0×", true],
  ]);
  const captured = shapes.map((each) => ({ ...each, captured: way(0.3) }));
  expect(columns({ "nuclear-norm": kept({ device: "cuda:0", shapes: captured }) })[0].slice(2)).toEqual(
    ["0.30 ms", "320.00", "≤ 0.4 ms", true], // biome-ignore format: short
  );
});

test("a table marks missed targets, and leaves rows without a peer or target open", () => {
  const table = tableOf([
    { work: "a", peer: "p", theirs: "2 ms", ours: "1 ms", ratio: 2, target: "≤ 0.5 ms", reached: false },
    { work: "b", peer: "—", theirs: "—", ours: "1 ms" },
  ]);
  expect(table.split("\n").slice(2)).toEqual([
    "| a | p | 2 ms | 1 ms | 2.00× | ≤ 0.5 ms | **no** |",
    "| b | — | — | 1 ms | — | — | — |",
  ]);
});
