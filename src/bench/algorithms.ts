/**
 * One update of each algorithm beside one of ERM on the same batch: time, memory, and how often the backbone runs forward
 * and backward. The runs are counted as they happen, in whole batches: three runs over a third of the batch are one. Beside
 * them stands what the public PyTorch code does, as its updates are described; that code is not run here.
 *
 * Each algorithm is timed in turn with ERM, and the minimum of the rounds counts. Updates are late ones, so that penalties
 * that set in after some thousand updates are in force; two or three in a row make a round, as DANN, CDANN and ADRMX take turns.
 * On a GPU they run as `nudge train` runs them: in bfloat16, channels last, captured as CUDA graphs.
 */

import type { AlgorithmDefinition, Batch, Minibatch } from "../algorithms/algorithm.js";
import { algorithmNamed, algorithms } from "../algorithms/index.js";
import { type Backbone, backboneNamed } from "../backbones/index.js";
import { usesChannelsLast } from "../backbones/layout.js";
import { memory, resetPeakMemory, synchronize, threads } from "../engine/device.js";
import { cat, empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import type { Precision } from "../nn/index.js";
import { DeviceUpdates } from "../training/device-updates.js";
import { Learner } from "../training/learner.js";

export interface AlgorithmsOptions {
  /** Ids with commas between, or `all`. */
  algorithm: string;
  backbone: string;
  /** Pictures of each of the three domains. */
  batch: number;
  device: string;
  repeats: number;
}

/** Runs of the backbone in one update, in whole batches. */
export interface Passes {
  readonly forward: number;
  readonly backward: number;
}

export interface AlgorithmCost {
  readonly id: string;
  readonly title: string;
  /** Milliseconds an update: the minimum of the rounds. */
  readonly ms: number;
  /** ERM's in the same rounds. */
  readonly ermMs: number;
  /** Bytes of tensors at the peak of an update: weights, optimizer and batch included. */
  readonly peak: number;
  readonly ermPeak: number;
  readonly passes: Passes;
  readonly reference: Passes;
  /** On a GPU: whether updates are replayed as a CUDA graph. */
  readonly replayed?: boolean;
  /** What the public code does more, where it does. */
  readonly saved?: string;
}

export interface AlgorithmsResult {
  readonly backbone: string;
  readonly batch: number;
  readonly domains: number;
  readonly device: string;
  /** Absent in records of before it was written: float32. */
  readonly precision?: Precision;
  readonly threads: number;
  readonly repeats: number;
  readonly rows: readonly AlgorithmCost[];
}

const DOMAINS = 3;
const CLASSES = 7;
/** A multiple of what turns repeat after. */
const LATE = 9_996;

/** Updates after which what an algorithm does repeats: the discriminator's turns. */
const TURNS: Readonly<Record<string, number>> = { adrmx: 3 };
const turnsOf = ({ id }: AlgorithmDefinition): number => TURNS[id] ?? 2;

/** On a GPU, rounds are longer, to hide the wait at their end. */
const LONGER = 4;

/** Updates of each kind until it is captured, and one more. */
const UNTIL_CAPTURED = 5;

const precisionOn = (device: string): Precision => (device === "cpu" ? "float32" : "bf16");

/** A backward pass takes about as long as two forward passes. */
const BACKWARD = 2;

/** How many times as long as an update of ERM one with so many passes should take. */
export const costOf = ({ forward, backward }: Passes): number => (forward + BACKWARD * backward) / (1 + BACKWARD);

/** What the public code runs in one update where that is not one forward and one backward pass, on average over turns. */
const REFERENCE: Readonly<Record<string, Passes & { saved?: string }>> = {
  dann: { forward: 1, backward: 1, saved: "no backward pass through the backbone in the discriminator's turn" },
  cdann: { forward: 1, backward: 1, saved: "no backward pass through the backbone in the discriminator's turn" },
  mldg: { forward: 2, backward: 2, saved: "values are put aside instead of copying the network for each pair" },
  fish: { forward: 1, backward: 1, saved: "values are put aside instead of copying the network" },
  "sag-net": { forward: 3, backward: 3, saved: "no backward pass through the backbone for the style head" },
  sam: { forward: 2, backward: 2 },
  mdsdi: { forward: 6, backward: 6, saved: "no backward pass through the invariant backbone in the meta steps" },
  miro: { forward: 2, backward: 1 },
  irm: { forward: 1, backward: 1, saved: "a closed form instead of the second backward pass through the head" },
  fishr: { forward: 1, backward: 1, saved: "two matrix products instead of a gradient for each sample" },
  "erm-plus-plus": { forward: 2, backward: 1 },
  iga: { forward: 1, backward: 2, saved: "no pass of its own for the mean gradient" },
  trm: { forward: 1, backward: 1, saved: "closed forms instead of gradients through the heads" },
  transfer: { forward: 12, backward: 12, saved: "features once for all steps of the adversarial head" },
  adrmx: { forward: 2, backward: 2, saved: "no backward pass through the backbones in the discriminator's turn" },
  arm: { forward: 1, backward: 1, saved: "no backward pass through the context network, which is not trained" },
};

/** Times one algorithm, or all of them. */
export function benchAlgorithms(options: AlgorithmsOptions): AlgorithmsResult {
  const { algorithm, backbone, batch, device, repeats } = options;
  const asked = algorithm === "all" ? Object.values(algorithms) : algorithm.split(",").map(algorithmNamed);
  const erm = algorithmNamed("erm");
  const ermPeak = peakOf(erm, options);
  const rows = asked.map((definition): AlgorithmCost => {
    const { id, title } = definition;
    const peak = definition === erm ? ermPeak : peakOf(definition, options);
    const { ms, ermMs, passes, replayed } = timesOf(definition, erm, options);
    const { saved, ...reference } = REFERENCE[id] ?? { forward: 1, backward: 1 };
    return {
      ...{ id, title, ms, ermMs, peak, ermPeak, passes, reference },
      ...(device !== "cpu" && { replayed }),
      ...(saved !== undefined && { saved }),
    };
  });
  const precision = precisionOn(device);
  return { backbone, batch, domains: DOMAINS, device, precision, threads: threads(), repeats, rows };
}

/** Alone in memory: nothing else's weights are counted. */
function peakOf(definition: AlgorithmDefinition, options: AlgorithmsOptions): number {
  using trial = new Trial(definition, options);
  trial.warmUp(); // optimizers make their state
  resetPeakMemory(options.device);
  trial.run();
  return memory(options.device).peak;
}

function timesOf(
  definition: AlgorithmDefinition,
  erm: AlgorithmDefinition,
  options: AlgorithmsOptions,
): { ms: number; ermMs: number; passes: Passes; replayed: boolean } {
  using trial = new Trial(definition, options);
  using other = new Trial(erm, options);
  const passes = trial.count(); // and the first round, which does not count, is over
  for (const each of [trial, other]) each.warmUp();
  let [ms, ermMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < options.repeats; round++) {
    ms = Math.min(ms, trial.run());
    ermMs = Math.min(ermMs, other.run());
  }
  return { ms, ermMs, passes, replayed: trial.isReplaying };
}

/** An algorithm on a batch of noise, ready to be timed. */
class Trial implements Disposable {
  private readonly learner: Learner;
  private readonly batch: Minibatch[];
  private readonly whole: Batch;
  private readonly updates: DeviceUpdates | undefined;
  private readonly tally = { forward: 0, backward: 0 };
  private step = LATE;

  constructor(
    private readonly algorithm: AlgorithmDefinition,
    private readonly options: AlgorithmsOptions,
  ) {
    const { device, batch } = options;
    const plain = backboneNamed(options.backbone).build();
    const shape = plain.inputShape;
    const [channels, ...sizes] = shape;
    plain.dispose();
    const precision = precisionOn(device);
    const channelsLast = usesChannelsLast({ backbone: options.backbone, inputShape: shape, device, precision });
    const memoryFormat = channelsLast ? "channels_last" : undefined;
    const inputShape = [channels + (algorithm.backbone?.extraChannels ?? 0), ...sizes];
    this.learner = new Learner({
      algorithm,
      makeBackbone: () =>
        this.counted(
          backboneNamed(options.backbone)
            .build({ inputShape })
            .initialize(new Random(0, ["bench"])),
        ),
      classes: CLASSES,
      domains: DOMAINS,
      hparams: { batchSize: batch },
      ...{ device, channelsLast, precision },
    });
    this.batch = Array.from({ length: DOMAINS }, (_, domain) => ({
      x: scope(() =>
        new Random(0, ["bench", "x", domain]).normal_(empty([batch, ...shape], { device })).to({ memoryFormat }),
      ),
      y: tensor(
        Array.from({ length: batch }, (_, i) => i % CLASSES),
        { dtype: "int64", device },
      ),
    }));
    this.whole = scope(() => ({
      domains: this.batch,
      x: cat(this.batch.map(({ x }) => x)),
      y: cat(this.batch.map(({ y }) => y)),
      labels: this.batch.flatMap(() => Array.from({ length: batch }, (_, i) => i % CLASSES)),
    }));
    this.updates = device === "cpu" ? undefined : new DeviceUpdates(this.learner, { device });
  }

  /** Whether updates are replayed as a CUDA graph. */
  get isReplaying(): boolean {
    return this.updates?.isReplaying ?? false;
  }

  /** The backbone with its runs added up, in samples; one whose result has a gradient is run backward too. */
  private counted(backbone: Backbone): Backbone {
    let inside = false; // `forward` may be `stages` underneath
    const note = (x: Tensor, run: () => Tensor): Tensor => {
      if (inside) return run();
      inside = true;
      try {
        const features = run();
        this.tally.forward += x.rows;
        if (features.requiresGrad) this.tally.backward += x.rows;
        return features;
      } finally {
        inside = false;
      }
    };
    const { forward, stages } = backbone;
    backbone.forward = (x) => note(x, () => forward.call(backbone, x));
    if (stages) backbone.stages = (x, onStage) => note(x, () => stages.call(backbone, x, onStage));
    return backbone;
  }

  /** Passes an update, over one round of plain updates. */
  count(): Passes {
    Object.assign(this.tally, { forward: 0, backward: 0 });
    const turns = turnsOf(this.algorithm);
    for (let i = 0; i < turns; i++) this.learner.update(this.batch, this.step++);
    const samples = turns * DOMAINS * this.options.batch;
    return { forward: this.tally.forward / samples, backward: this.tally.backward / samples };
  }

  /** Makes updates until those of each turn are captured; one round on the CPU. */
  warmUp(): void {
    const rounds = this.updates ? Math.ceil((UNTIL_CAPTURED * turnsOf(this.algorithm)) / this.length) : 1;
    for (let i = 0; i < rounds; i++) this.run();
  }

  /** Updates of a round. */
  private get length(): number {
    return turnsOf(this.algorithm) * (this.updates ? LONGER : 1);
  }

  /** Milliseconds an update. */
  run(): number {
    const { length, updates, learner } = this;
    synchronize(this.options.device);
    const start = performance.now();
    for (let i = 0; i < length; i++) {
      if (updates) scope(() => updates.update(this.whole, this.step++));
      else learner.update(this.batch, this.step++);
    }
    synchronize(this.options.device);
    return (performance.now() - start) / length;
  }

  [Symbol.dispose](): void {
    this.updates?.[Symbol.dispose]();
    this.learner.dispose();
    for (const { x, y } of [...this.batch, this.whole]) for (const each of [x, y]) each.dispose();
  }
}
