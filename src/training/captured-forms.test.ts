/**
 * Tests which updates can be captured as CUDA graphs, without a GPU. The CUDA graph is replaced by a mock that runs its
 * body again at each replay, under the rules of a capture: the draws and the batch come from fixed buffers, and the
 * step number, draws on the host and transfers from or to the host are rejected.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { AlgorithmDefinition, StepContext } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import { loadNative } from "../engine/load.js";
import { NotCapturable } from "../engine/recorded-random.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import type { HparamValue } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { DeviceUpdates } from "./device-updates.js";
import type { Learner } from "./learner.js";
import { batchOf, learnerOf, networkSetup } from "./self-test-setup.js";

/** Functions of the addon that transfer numbers between the host and a device. */
const TRANSFERS = ["item", "read", "fromBytes"] as const;

/** On a CPU every loss is read to check it, which does not happen on a GPU. EQRM computes a constant on the host. */
const ALLOWED = /learner\.ts|eqrm\.ts/;

vi.mock("../engine/cuda-graph.js", () => ({
  CudaGraph: class {
    constructor(private readonly body: () => void) {}
    static capture(_device: string, body: () => void) {
      return new this(body);
    }
    replay(): void {
      withoutTransfers(this.body);
    }
    dispose(): void {}
  },
}));

/** Runs the body that would be captured. Transfers, which a capture would not record, are errors. */
function withoutTransfers(body: () => void): void {
  const native = loadNative();
  const spies = TRANSFERS.map((name) => {
    const original = native[name] as (...args: never[]) => unknown;
    return vi.spyOn(native, name).mockImplementation(((...args: never[]) => {
      const stack = new Error().stack!.split("\n");
      const callers = stack.slice(stack.findIndex((line) => /tensor\.ts/.test(line)));
      const caller = callers.find((line) => !/tensor\.ts/.test(line)) ?? "";
      if (!ALLOWED.test(caller)) throw new NotCapturable(`it moves numbers between host and device ${caller.trim()}`);
      return original(...args);
    }) as never);
  });
  try {
    body();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/**
 * Steps from the start, and later ones with every penalty active. DANN alternates between two updates, ADRMX between
 * three.
 */
const STEPS = [0, 9000].flatMap((first) => Array.from({ length: 18 }, (_, i) => first + i));

const setup = {
  ...networkSetup({ backbone: "toy-cnn", size: 8, precision: "float32", channelsLast: false }),
  steps: STEPS,
};

/** Variants of the algorithms besides the defaults. */
const VARIANTS: Readonly<Record<string, readonly Record<string, HparamValue>[]>> = {
  "mix-style": [{ mixing: "cross-domain" }],
  mldg: [{ pairing: "meta-test" }, { pairing: "meta-test", nMetaTest: 1 }],
  mdsdi: [{ pairing: "leave-one-out" }, { domainLabels: "constant" }],
  "self-reg": [{ trainProjector: true }],
  adrmx: [{ remix: "same-class" }],
  mixup: [{ betweenDomains: false }],
};

const bytesOf = (learner: Learner): number[][] =>
  scope(() => [...learner.state().tensors.values()].map((each) => each.detach().toNumbers()));

/**
 * Returns the states after updates that are replayed if possible and after normal ones, and why some were not replayed.
 */
function trained(algorithm: AlgorithmDefinition, hparams: Record<string, HparamValue> = {}) {
  const notes: string[] = [];
  using learner = learnerOf({ ...setup, hparams }, algorithm, "cpu");
  using updates = new DeviceUpdates(learner, { device: "cpu", say: (text) => notes.push(text) });
  using plain = learnerOf({ ...setup, hparams }, algorithm, "cpu");
  for (const step of STEPS) {
    scope(() => {
      const batch = batchOf(setup, step, "cpu");
      updates.update(batch, step);
      plain.update(batch.domains, step);
    });
  }
  return { replays: updates.isReplaying, notes, replayed: bytesOf(learner), plain: bytesOf(plain) };
}

const cases = Object.values(algorithms).flatMap((algorithm) =>
  [{}, ...(VARIANTS[algorithm.id] ?? [])].map((hparams) => ({
    name: [algorithm.title, ...Object.entries(hparams).map((each) => each.join("="))].join(" "),
    algorithm,
    hparams,
  })),
);

test.for(cases)(
  "$name is captured, and replayed to the bytes of plain updates",
  { timeout: 60_000 },
  ({ algorithm, hparams }) => {
    const { replays, notes, replayed, plain } = trained(algorithm, hparams);
    expect(notes).toEqual([]);
    expect(replays).toBe(true);
    expect(replayed).toEqual(plain);
  },
);

test("an update that draws on the host, reads or uploads numbers is noticed", () => {
  const breaking = (what: (x: Tensor, ctx: StepContext) => unknown): AlgorithmDefinition => ({
    ...algorithms.erm,
    build: (context) => {
      const built = algorithms.erm.build(context);
      if (!built.step) throw new Error("ERM returns a loss");
      const step: typeof built.step = (batch, ctx) => {
        what(batch.x, ctx);
        return built.step(batch, ctx);
      };
      return { ...built, step };
    },
  });
  expect(() => trained(breaking((x) => x.sum().item()))).toThrow("it moves numbers between host and device");
  expect(() => trained(breaking((x) => x.take([0])))).toThrow("it moves numbers between host and device");
  expect(() => trained(breaking((_, { draw }) => draw.beta("share", 1, 1)))).toThrow("it draws numbers on the host");
  expect(() => trained(breaking((_, { step }) => step))).toThrow("it depends on the step number");
  expect(() => trained(breaking((x) => x.sum().toNumbers()))).toThrow("it moves numbers between host and device");
});

test("an update that adds to gradients of the update before it is noticed", () => {
  const accumulating: AlgorithmDefinition = {
    ...algorithms.erm,
    build({ backbone, classifier, adam }) {
      const optimizers = { main: adam([...backbone.parameters(), ...classifier.parameters()]) };
      return {
        modules: { backbone, classifier },
        optimizers,
        update({ x, y }, ctx) {
          const loss = crossEntropy(classifier.forward(backbone.forward(x)), y);
          if (ctx.schedule((step) => step % 2 === 0)) optimizers.main.zeroGrad();
          loss.backward();
          optimizers.main.step();
          return { loss };
        },
        predict: (x) => classifier.forward(backbone.forward(x)),
      };
    },
  };
  expect(() => trained(accumulating)).toThrow("it adds to gradients of the update before it");
});

test("the docs say that all algorithms are captured", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/algorithms.md"), "utf8").replaceAll(/\s+/g, " ");
  expect(page).toContain("whole updates are captured as CUDA graphs for all algorithms");
});
