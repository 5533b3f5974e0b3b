/**
 * Measures how long a process takes until it trains: loading the engine, starting the GPU, compiling kernels, and the first
 * steps, in which cuDNN plans every convolution. Plans last as long as the process, so each way of planning is measured in its
 * own process, one after the other. A way that is faster at the start can be slower at each step, so the time of a captured
 * step is measured too.
 */

import { spawnSync } from "node:child_process";
import { backboneNamed } from "../backbones/index.js";
import { CudaGraph } from "../engine/cuda-graph.js";
import { fusedKernelsProblem, synchronize } from "../engine/device.js";
import { loadNative } from "../engine/load.js";
import { empty, zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { crossEntropy, Linear, type Precision, withPrecision } from "../nn/index.js";
import { Adam } from "../optim/index.js";

/** The ways of planning convolutions, as environment variables that a process reads when it loads the engine. */
const WAYS: Readonly<Record<string, { readonly title: string; readonly env: Readonly<Record<string, string>> }>> = {
  heuristic: { title: "cuDNN's first choice", env: { NUDGE_CUDNN_TRIALS: "0", NUDGE_POINTWISE: "cudnn" } },
  again: { title: "the same in a second process", env: { NUDGE_CUDNN_TRIALS: "0", NUDGE_POINTWISE: "cudnn" } },
  matmul: { title: "1 × 1 as matrix products", env: { NUDGE_CUDNN_TRIALS: "0", NUDGE_POINTWISE: "matmul" } },
  "mode-b": { title: "cuDNN's heuristic B", env: { NUDGE_POINTWISE: "cudnn", TORCH_CUDNN_USE_HEURISTIC_MODE_B: "1" } },
  "trials-1": { title: "the fastest of 1 plan", env: { NUDGE_CUDNN_TRIALS: "1", NUDGE_POINTWISE: "cudnn" } },
  "trials-3": { title: "the fastest of 3 plans", env: { NUDGE_CUDNN_TRIALS: "3", NUDGE_POINTWISE: "cudnn" } },
  "trials-10": { title: "the fastest of 10 plans", env: { NUDGE_CUDNN_TRIALS: "10", NUDGE_POINTWISE: "cudnn" } },
  "matmul-trials-3": {
    title: "1 × 1 as matrix products, 3 plans",
    env: { NUDGE_CUDNN_TRIALS: "3", NUDGE_POINTWISE: "matmul" },
  },
};

/** The names of the ways. */
export const startWays = (): string[] => Object.keys(WAYS);

export interface StartOptions {
  backbone: string;
  batch: number;
  device: string;
  /** Names from `startWays()`. */
  ways: readonly string[];
}

/** The seconds of each stage of one process, in order, and the time of a step. */
export interface StartTimes {
  /** Loading Node.js, the command and libtorch. */
  readonly engine: number;
  /** Creating the first tensor on the device. */
  readonly device: number;
  /** Compiling the project's own kernels. */
  readonly kernels: number;
  /** Building the network and moving it to the device. */
  readonly network: number;
  readonly firstForward: number;
  /** The backward pass and the optimizer. */
  readonly firstBackward: number;
  readonly secondStep: number;
  /** Evaluating a batch of 256 for the first time. */
  readonly evaluation: number;
  /** Capturing the step; 0 on the CPU. */
  readonly capture: number;
  /** Milliseconds per step, captured on a GPU: the minimum over the rounds. */
  readonly stepMs: number;
}

export interface StartRow {
  readonly way: string;
  readonly title: string;
  readonly times: StartTimes;
}

export interface StartResult {
  readonly backbone: string;
  readonly batch: number;
  readonly device: string;
  readonly precision: Precision;
  readonly rows: readonly StartRow[];
}

const CLASSES = 7;
const EVALUATION_ROWS = 256;
const precisionOn = (device: string): Precision => (device === "cpu" ? "float32" : "bf16");

/** Runs one process for each way. `command` must print the result of `timeStart` as JSON. */
export function benchStart(options: StartOptions, command: readonly string[]): StartResult {
  const { backbone, batch, device, ways } = options;
  const unknown = ways.find((way) => !Object.hasOwn(WAYS, way));
  if (unknown !== undefined)
    throw new UsageError(`bench start: unknown way "${unknown}" (known: ${startWays().join(", ")})`);
  const rows = ways.map((way): StartRow => {
    const [program, ...args] = command;
    const child = spawnSync(program, args, { env: { ...process.env, ...WAYS[way].env }, encoding: "utf8" });
    if (child.status !== 0) throw new UsageError(`bench start, ${way}: the process failed: ${child.stderr.trim()}`);
    return { way, title: WAYS[way].title, times: JSON.parse(child.stdout) };
  });
  return { backbone, batch, device, precision: precisionOn(device), rows };
}

/** Times the start of this process, which should not have done other work before. */
export function timeStart({ backbone: id, batch, device }: Omit<StartOptions, "ways">): StartTimes {
  const gpu = device !== "cpu";
  let last = 0; // on the clock of this process, which starts with it
  const lap = (): number => {
    synchronize(device);
    const now = performance.now();
    const seconds = (now - last) / 1000;
    last = now;
    return seconds;
  };
  loadNative();
  const engine = performance.now() / 1000;
  last = performance.now();
  scope(() => zeros([1], { device }).add(1).item());
  const started = lap();
  fusedKernelsProblem(device);
  const kernels = lap();

  const definition = backboneNamed(id).build();
  const shape = definition.inputShape;
  const memoryFormat = gpu ? "channels_last" : "contiguous";
  const precision = precisionOn(device);
  const random = new Random(0, ["bench"]);
  const head = new Linear(definition.width, CLASSES);
  for (const module of [definition, head]) module.initialize(random).to({ device, memoryFormat }).train();
  using backbone = definition;
  using classifier = head;
  using optimizer = new Adam([...backbone.parameters(), ...classifier.parameters()], { lr: 5e-5 });
  const pictures = (rows: number) =>
    scope(() =>
      random
        .for("x", rows)
        .normal_(empty([rows, ...shape], { device }))
        .to({ memoryFormat }),
    );
  using x = pictures(batch);
  using y = tensor(
    Array.from({ length: batch }, (_, i) => i % CLASSES),
    { dtype: "int64", device },
  );
  const network = lap();

  const times = { firstForward: 0, firstBackward: 0 };
  const step = (between?: () => void): void =>
    scope(() => {
      const loss = crossEntropy(
        withPrecision(precision, () => classifier.forward(backbone.forward(x))),
        y,
      );
      between?.();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
    });
  step(() => {
    times.firstForward = lap();
  });
  times.firstBackward = lap();
  step();
  const secondStep = lap();
  scope(() => {
    const more = pictures(gpu ? EVALUATION_ROWS : batch);
    noGrad(() => withPrecision(precision, () => classifier.forward(backbone.forward(more))));
  });
  const evaluation = lap();
  step();
  lap();
  using graph = gpu ? CudaGraph.capture(device, () => step()) : undefined;
  const capture = gpu ? lap() : 0;
  const once = (): void => (graph ? graph.replay() : step());
  const steps = gpu ? 20 : 1;
  const rounds = Array.from({ length: gpu ? 10 : 2 }, () => {
    lap();
    for (let i = 0; i < steps; i++) once();
    return (1000 * lap()) / steps;
  });
  return {
    ...{ engine, device: started, kernels, network, ...times, secondStep, evaluation, capture },
    stepMs: Math.min(...rounds),
  };
}
