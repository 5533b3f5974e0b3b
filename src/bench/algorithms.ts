/**
 * One update of each algorithm beside one of ERM on the same batch: time, memory, and how often the backbone runs forward
 * and backward. The runs are counted as they happen, in whole batches: three runs over a third of the batch are one. Beside
 * them stands what the public PyTorch code does, as its updates are described; that code is not run here.
 *
 * Each algorithm is timed in turn with ERM, and the minimum of the rounds counts. Updates are late ones, so that penalties
 * that set in after some thousand updates are in force; two in a row make a round, as DANN and CDANN take turns.
 */

import type { AlgorithmDefinition, Minibatch } from "../algorithms/algorithm.js";
import { algorithmNamed, algorithms } from "../algorithms/index.js";
import { type Backbone, backboneNamed } from "../backbones/index.js";
import { likesChannelsLast } from "../backbones/layout.js";
import { memory, resetPeakMemory, synchronize, threads } from "../engine/device.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { Learner } from "../training/learner.js";

export interface AlgorithmsOptions {
  /** An id, or `all`. */
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
  /** What the public code does more, where it does. */
  readonly saved?: string;
}

export interface AlgorithmsResult {
  readonly backbone: string;
  readonly batch: number;
  readonly domains: number;
  readonly device: string;
  readonly threads: number;
  readonly repeats: number;
  readonly rows: readonly AlgorithmCost[];
}

const DOMAINS = 3;
const CLASSES = 7;
const LATE = 10_000;
const ROUND = 2;

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
  const asked = algorithm === "all" ? Object.values(algorithms) : [algorithmNamed(algorithm)];
  const erm = algorithmNamed("erm");
  const ermPeak = peakOf(erm, options);
  const rows = asked.map((definition): AlgorithmCost => {
    const { id, title } = definition;
    const peak = definition === erm ? ermPeak : peakOf(definition, options);
    const { ms, ermMs, passes } = timesOf(definition, erm, options);
    const { saved, ...reference } = REFERENCE[id] ?? { forward: 1, backward: 1 };
    return { id, title, ms, ermMs, peak, ermPeak, passes, reference, ...(saved !== undefined && { saved }) };
  });
  return { backbone, batch, domains: DOMAINS, device, threads: threads(), repeats, rows };
}

/** Alone in memory: nothing else's weights are counted. */
function peakOf(definition: AlgorithmDefinition, options: AlgorithmsOptions): number {
  using trial = new Trial(definition, options);
  trial.run(); // optimizers make their state
  resetPeakMemory(options.device);
  trial.run();
  return memory(options.device).peak;
}

function timesOf(
  definition: AlgorithmDefinition,
  erm: AlgorithmDefinition,
  options: AlgorithmsOptions,
): { ms: number; ermMs: number; passes: Passes } {
  using trial = new Trial(definition, options);
  using other = new Trial(erm, options);
  const passes = trial.count(() => trial.run()); // and the first round, which does not count, is over
  other.run();
  let [ms, ermMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < options.repeats; round++) {
    ms = Math.min(ms, trial.run());
    ermMs = Math.min(ermMs, other.run());
  }
  return { ms, ermMs, passes };
}

/** An algorithm on a batch of noise, ready to be timed. */
class Trial implements Disposable {
  private readonly learner: Learner;
  private readonly batch: Minibatch[];
  private readonly tally = { forward: 0, backward: 0 };
  private step = LATE;

  constructor(
    algorithm: AlgorithmDefinition,
    private readonly options: AlgorithmsOptions,
  ) {
    const { device, batch } = options;
    const plain = backboneNamed(options.backbone).build();
    const shape = plain.inputShape;
    const [channels, ...sizes] = shape;
    plain.dispose();
    const precision = "float32";
    const channelsLast = likesChannelsLast({ backbone: options.backbone, inputShape: shape, device, precision });
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

  /** Passes an update while something runs one round. */
  count(round: () => void): Passes {
    Object.assign(this.tally, { forward: 0, backward: 0 });
    round();
    const samples = ROUND * DOMAINS * this.options.batch;
    return { forward: this.tally.forward / samples, backward: this.tally.backward / samples };
  }

  /** Milliseconds an update. */
  run(): number {
    synchronize(this.options.device);
    const start = performance.now();
    for (let i = 0; i < ROUND; i++) this.learner.update(this.batch, this.step++);
    synchronize(this.options.device);
    return (performance.now() - start) / ROUND;
  }

  [Symbol.dispose](): void {
    this.learner.dispose();
    for (const each of this.batch.flatMap(({ x, y }) => [x, y])) each.dispose();
  }
}
