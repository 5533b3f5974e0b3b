/**
 * Measures one update of each algorithm next to one update of ERM on the same batch: time, memory, and the number of forward
 * and backward passes of the backbone. Passes are counted while they happen, in whole batches: three passes over a third of
 * the batch count as one. The result also contains the passes of the public PyTorch code, as its updates are described; that
 * code is not run here.
 *
 * Each algorithm alternates with ERM. The time is the minimum over the rounds; the ratio to ERM is the median of the ratios
 * of the rounds. On the CPU, the ratio is that of the CPU time, which does not contain the time in which other processes
 * run. Threads that wait for each other count, so use one thread if the machine is busy. The timed updates are late ones,
 * so that penalties that start after some thousand updates are active. A round has two or three consecutive updates, because DANN,
 * CDANN and ADRMX alternate between kinds of updates. On a GPU the updates run as in `nudge train`: in bfloat16, channels
 * last, captured as CUDA graphs.
 */

import type { AlgorithmDefinition, Batch, Minibatch } from "../algorithms/algorithm.js";
import { algorithmNamed, algorithms } from "../algorithms/index.js";
import { turnsOf } from "../algorithms/turns.js";
import { median } from "../analysis/evaluation.js";
import { type Backbone, backboneNamed } from "../backbones/index.js";
import { usesChannelsLast } from "../backbones/layout.js";
import { emptyCache, memory, resetPeakMemory, setThreads, synchronize, threads } from "../engine/device.js";
import { cat, empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import type { Precision } from "../nn/index.js";
import { DeviceUpdates } from "../training/device-updates.js";
import { Learner } from "../training/learner.js";

export interface AlgorithmsOptions {
  /** Comma-separated ids, or `all`. */
  algorithm: string;
  backbone: string;
  /** The number of pictures of each of the three domains. */
  batch: number;
  device: string;
  /** The number of CPU threads; by default it does not change. */
  threads?: number;
  repeats: number;
  /** Called with the name of each algorithm before it is measured. */
  onStart?: (title: string) => void;
}

/** The passes of the backbone in one update, in whole batches. */
export interface Passes {
  readonly forward: number;
  readonly backward: number;
}

export interface AlgorithmCost {
  readonly id: string;
  readonly title: string;
  /** Milliseconds per update: the minimum over the rounds. */
  readonly ms: number;
  /** The same for ERM, in the same rounds. */
  readonly ermMs: number;
  /** The median over the rounds of the time (on the CPU, of the CPU time) relative to that of ERM. */
  readonly ratio: number;
  /** The peak memory of updates in bytes: tensors, including weights, optimizer state and batch, or on a GPU the pools of captured updates. */
  readonly peak: number;
  readonly ermPeak: number;
  readonly passes: Passes;
  readonly reference: Passes;
  /** Whether every pass of the backbone has the pictures of one domain only. */
  readonly byDomain: boolean;
  /** On a GPU, whether updates are replayed as a CUDA graph. */
  readonly replayed?: boolean;
  /** Work of the public code that is saved here, if any. */
  readonly saved?: string;
}

export interface AlgorithmsResult {
  readonly backbone: string;
  readonly batch: number;
  readonly domains: number;
  readonly device: string;
  readonly precision: Precision;
  readonly threads: number;
  readonly repeats: number;
  readonly rows: readonly AlgorithmCost[];
  /**
   * The time of one update of ERM for each domain, relative to one with all domains: no method that passes domain by domain can be
   * faster. Measured if there is such a method.
   */
  readonly byDomainRatio?: number;
}

const DOMAINS = 3;
const CLASSES = 7;
/** The step of the timed updates: a multiple of the periods of all algorithms. */
const LATE = 9_996;

/** The number of consecutive updates that contain every kind of update of an algorithm; at least 2. */
const lengthOf = (algorithm: AlgorithmDefinition): number => Math.max(2, turnsOf(algorithm));

/** On a GPU, rounds are longer by this factor, so that the synchronization at their end is negligible. */
const LONGER = 4;

/** The number of updates of each kind until it is captured, plus one. */
const UNTIL_CAPTURED = 5;

const precisionOn = (device: string): Precision => (device === "cpu" ? "float32" : "bf16");

/** A backward pass takes about as long as two forward passes. */
const BACKWARD = 2;

/** The expected time of an update with this number of passes, relative to an update of ERM. */
export const costOf = ({ forward, backward }: Passes): number => (forward + BACKWARD * backward) / (1 + BACKWARD);

/** The passes of the public code in one update, averaged over kinds of updates, if they are not one forward and one backward pass. */
const REFERENCE: Readonly<Record<string, Passes & { saved?: string }>> = {
  dann: { forward: 1, backward: 1, saved: "no backward pass through the backbone in the discriminator's turn" },
  cdann: { forward: 1, backward: 1, saved: "no backward pass through the backbone in the discriminator's turn" },
  mldg: { forward: 2, backward: 2, saved: "values are put aside instead of copying the network for each pair" },
  fish: { forward: 1, backward: 1, saved: "values are put aside instead of copying the network" },
  "sag-net": { forward: 3, backward: 3, saved: "no backward pass through the backbone for the style head" },
  sam: { forward: 2, backward: 2 },
  sagm: { forward: 2, backward: 2 },
  gsam: { forward: 2, backward: 2 },
  disam: { forward: 2, backward: 2 },
  mdsdi: { forward: 6, backward: 6, saved: "no backward pass through the invariant backbone in the meta steps" },
  miro: { forward: 2, backward: 1 },
  irm: { forward: 1, backward: 1, saved: "a closed form instead of the second backward pass through the head" },
  fishr: { forward: 1, backward: 1, saved: "two matrix products instead of a gradient for each sample" },
  "erm-plus-plus": { forward: 2, backward: 1 },
  iga: { forward: 1, backward: 5, saved: "no pass of its own for the mean gradient" },
  trm: { forward: 1, backward: 1, saved: "closed forms instead of gradients through the heads" },
  transfer: { forward: 12, backward: 12, saved: "features once for all steps of the adversarial head" },
  adrmx: { forward: 2, backward: 2, saved: "no backward pass through the backbones in the discriminator's turn" },
  arm: { forward: 1, backward: 1, saved: "no backward pass through the context network, which is not trained" },
};

/**
 * The backward passes that the counter does not see. IGA differentiates the gradients of the losses. A forward pass has one product
 * per convolution (y = x∗w) and a backward pass two (the gradients of x and w). The derivative of a backward pass has four, as it is
 * linear in each of the gradient, x and w, and then the forward pass is differentiated for the last two: the gradient, its derivative
 * and this are 1 + 2 + 1 backward passes.
 */
const UNSEEN: Readonly<Record<string, number>> = { iga: 3 };

/** Times the requested algorithms. */
export function benchAlgorithms(options: AlgorithmsOptions): AlgorithmsResult {
  const { algorithm, backbone, batch, device, repeats, onStart } = options;
  if (options.threads !== undefined) setThreads(options.threads);
  const requested = algorithm === "all" ? Object.values(algorithms) : algorithm.split(",").map(algorithmNamed);
  const definitionOfErm = algorithmNamed("erm");
  using erm = new Trial(definitionOfErm, options);
  erm.count();
  const ermPeak = erm.warmUp();
  const rows = requested.map((definition): AlgorithmCost => {
    const { id, title } = definition;
    onStart?.(title);
    using trial = new Trial(definition, options);
    const counted = trial.count();
    const peak = trial.warmUp();
    const rounds = alternate(trial, erm, repeats);
    const { saved, ...reference } = REFERENCE[id] ?? { forward: 1, backward: 1 };
    return {
      ...{ id, title, ...counted, ermPeak, reference, ratio: ratioOf(rounds) },
      peak: definition === definitionOfErm ? ermPeak : peak,
      ms: Math.min(...rounds.map(([own]) => own.ms)),
      ermMs: Math.min(...rounds.map(([, ofErm]) => ofErm.ms)),
      ...(device !== "cpu" && { replayed: trial.isReplaying }),
      ...(saved !== undefined && { saved }),
    };
  });
  const byDomain = (): number => {
    using one = new Trial(definitionOfErm, options, 1);
    one.warmUp();
    return DOMAINS * ratioOf(alternate(one, erm, repeats));
  };
  const byDomainRatio = rows.some((row) => row.byDomain) ? byDomain() : undefined;
  const precision = precisionOn(device);
  return { backbone, batch, domains: DOMAINS, device, precision, threads: threads(), repeats, rows, byDomainRatio };
}

type Rounds = readonly (readonly [own: Time, other: Time])[];

const alternate = (trial: Trial, other: Trial, repeats: number): Rounds =>
  Array.from({ length: repeats }, () => [trial.run(), other.run()] as const);

const ratioOf = (rounds: Rounds): number => median(rounds.map(([own, other]) => own.work / other.work))!;

/** Milliseconds per update: by the clock, and on the CPU the time in which this process worked. */
interface Time {
  readonly ms: number;
  readonly work: number;
}

/** An algorithm on a batch of noise, ready to be timed. */
class Trial implements Disposable {
  private readonly learner: Learner;
  private readonly batch: Minibatch[];
  private readonly whole: Batch;
  private readonly updates: DeviceUpdates | undefined;
  private readonly tally = { forward: 0, backward: 0, largest: 0 };
  private readonly before: ReturnType<typeof memory>;
  private step = LATE;

  constructor(
    private readonly algorithm: AlgorithmDefinition,
    private readonly options: AlgorithmsOptions,
    private readonly domains = DOMAINS,
  ) {
    const { device, batch } = options;
    emptyCache(device);
    this.before = memory(device);
    resetPeakMemory(device);
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
      domains,
      hparams: { batchSize: batch },
      ...{ device, channelsLast, precision },
    });
    this.batch = Array.from({ length: domains }, (_, domain) => ({
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

  /** Wraps the backbone to count its passes, in samples. A pass whose output requires a gradient counts as a backward pass too. */
  private counted(backbone: Backbone): Backbone {
    let inside = false; // `forward` may call `stages`
    const note = (x: Tensor, run: () => Tensor): Tensor => {
      if (inside) return run();
      inside = true;
      try {
        const features = run();
        this.tally.forward += x.rows;
        this.tally.largest = Math.max(this.tally.largest, x.rows);
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

  /** The passes per update, counted over one round of updates without capture. */
  count(): Required<Pick<AlgorithmCost, "passes" | "byDomain">> {
    Object.assign(this.tally, { forward: 0, backward: 0, largest: 0 });
    const turns = lengthOf(this.algorithm);
    for (let i = 0; i < turns; i++) this.learner.update(this.batch, this.step++);
    const samples = turns * this.domains * this.options.batch;
    const unseen = UNSEEN[this.algorithm.id] ?? 0;
    const passes = { forward: this.tally.forward / samples, backward: this.tally.backward / samples + unseen };
    return { passes, byDomain: this.tally.largest <= this.options.batch };
  }

  /**
   * Runs updates until each kind is captured, or on the CPU one round, and one round more. Returns the peak memory, without
   * what was in use before the trial was created. On a GPU, a captured update keeps its memory in a pool that no tensor
   * owns: the pool counts as what the allocator still reserves once its cache is empty.
   */
  warmUp(): number {
    const { device } = this.options;
    const rounds = this.updates ? Math.ceil((UNTIL_CAPTURED * lengthOf(this.algorithm)) / this.length) : 1;
    for (let i = 0; i <= rounds; i++) this.run();
    const tensors = memory(device).peak - this.before.used;
    emptyCache(device);
    const reserved = (memory(device).reserved ?? 0) - (this.before.reserved ?? 0);
    return Math.max(tensors, reserved);
  }

  /** The number of updates per round. */
  private get length(): number {
    return lengthOf(this.algorithm) * (this.updates ? LONGER : 1);
  }

  /** Runs and times one round. */
  run(): Time {
    const { length, updates, learner } = this;
    synchronize(this.options.device);
    const [start, before] = [performance.now(), process.cpuUsage()];
    for (let i = 0; i < length; i++) {
      if (updates) scope(() => updates.update(this.whole, this.step++));
      else learner.update(this.batch, this.step++);
    }
    synchronize(this.options.device);
    const ms = (performance.now() - start) / length;
    const { user, system } = process.cpuUsage(before);
    return { ms, work: updates ? ms : (user + system) / 1000 / length };
  }

  [Symbol.dispose](): void {
    this.updates?.[Symbol.dispose]();
    this.learner.dispose();
    for (const { x, y } of [...this.batch, this.whole]) for (const each of [x, y]) each.dispose();
  }
}
