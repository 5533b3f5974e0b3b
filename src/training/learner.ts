/**
 * Runs an algorithm: the modules, optimizers and regularizers of one run, one update at a time. It adds the penalties,
 * runs the backward pass and the optimizer, frees the tensors of a step, and holds the state that a checkpoint saves.
 * It does not depend on data, files or schedules, so any algorithm can be run directly on arrays:
 *
 *     using learner = new Learner({ algorithm: erm, makeBackbone: () => mlp, classes: 7, domains: 3, hparams: {}, seed: 0 });
 *     learner.update([{ x, y }, …], step);
 *     learner.stateDict();
 */

import {
  type AlgorithmDefinition,
  type Batch,
  type BuildContext,
  type BuiltAlgorithm,
  type HostInputs,
  type LossAlgorithm,
  type Minibatch,
  predictsByBatch,
  type RowLabels,
  type SharedValues,
  type StepContext,
} from "../algorithms/algorithm.js";
import { callHook, checkBuilt, checkOutcome, PenaltyCheck } from "../algorithms/check-built.js";
import { checkDomains } from "../algorithms/check-domains.js";
import { domainLabels } from "../algorithms/domain-labels.js";
import { type Draws, keyedDraws } from "../algorithms/draws.js";
import type { Backbone } from "../backbones/index.js";
import { unknownName } from "../closest-name.js";
import { cat, empty } from "../engine/ops.generated.js";
import { Random, withRandom } from "../engine/random.js";
import { NotCapturable } from "../engine/recorded-random.js";
import { allOrNothing, scope } from "../engine/scope.js";
import { noGrad, Tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import type { HparamValue } from "../hparams.js";
import { crossEntropy, type Layer, Linear, Module, type Place, type Precision, withPrecision } from "../nn/index.js";
import { paddedRows } from "../nn/padded-rows.js";
import type { Optimizer } from "../optim/index.js";
import type { Regularizer } from "../regularizers/index.js";
import type { StepResult, TrainedWeights } from "../regularizers/regularizer.js";
import { type Optimization, OptimizerMaker } from "./optimization.js";

export interface LearnerOptions {
  algorithm: AlgorithmDefinition;
  /** Returns an initialized backbone. Called again for algorithms that need another one with the same values. */
  makeBackbone: () => Backbone;
  classes: number;
  /** The number of training domains. */
  domains: number;
  /** The algorithm's own and the shared hyperparameters. Missing ones have their defaults. */
  hparams?: Readonly<Record<string, HparamValue>>;
  regularizers?: readonly Regularizer[];
  seed?: number;
  precision?: Precision;
  device?: string;
  /** Whether convolution weights are in the channels-last memory format (backbones/layout.ts). */
  channelsLast?: boolean;
  /** Creates a classifier. The default is one linear layer. */
  makeClassifier?: (inputs: number, outputs: number) => Layer;
  /** The optimizer and the learning rate schedule. The default is Adam with a constant learning rate. */
  optimization?: Optimization;
  /** Returns the draws of an update, for tests. By default they depend on the seed and the step. */
  drawsAt?: (step: number) => Draws;
}

/**
 * The state of a learner, with everything that is needed to resume exactly: its own tensors, not copies, and numbers.
 */
export interface LearnerState {
  /** Keys such as `model/backbone.conv1.weight` and `optimizer/main/0.3.exp_avg`. */
  readonly tensors: Map<string, Tensor>;
  /** The numbers of each optimizer, by its name. */
  readonly numbers: Record<string, Record<string, number>>;
}

/** Scalars for the log: numbers, or tensors that have not been read yet. */
export type Scalars = Readonly<Record<string, Tensor | number>>;

/** Options of an update. */
export interface Launch extends Pick<StepResult, "watch" | "notice"> {
  readonly step: number;
  /** The source of random draws. By default it depends on the step. */
  readonly random?: Random;
  /** Receives every function that depends on the step number. */
  readonly onSchedule?: (at: (step: number) => number | boolean) => void;
  /**
   * Whether the update is being captured. It then must not depend on the step in a way that a replay would not
   * reproduce.
   */
  readonly captured?: boolean;
}

/** The defaults of the shared hyperparameters that an algorithm may read. */
const SHARED: SharedValues = { lr: 5e-5, weightDecay: 0, batchSize: 32, classBalanced: false };

/** The modules of an algorithm as children of one root module. */
class Root extends Module {
  constructor(private readonly parts: Readonly<Record<string, Module>>) {
    super();
  }

  override *children(): Generator<[string, Module]> {
    yield* Object.entries(this.parts);
  }
}

export class Learner implements Disposable {
  readonly root: Module;
  /** The optimizers by the name used in saved files. If the loop minimizes the loss, there is one, named `main`. */
  readonly optimizers: Record<string, Optimizer>;
  /** The feature extractor that the algorithm was built with. */
  readonly backbone: Backbone;
  private readonly built: BuiltAlgorithm;
  private classifier: Layer | undefined;
  private readonly hparams: Readonly<Record<string, HparamValue>> & SharedValues;
  private readonly random: Random;
  private readonly penaltyCheck: PenaltyCheck;
  private readonly maker: OptimizerMaker;
  /** The initial backbone, if a penalty needs it. */
  private start: Backbone | undefined;
  /** The inputs for the numbers that the host computes for the next update. */
  private host: HostInputs | undefined;

  constructor(private readonly options: LearnerOptions) {
    checkDomains(options.algorithm, options);
    this.penaltyCheck = new PenaltyCheck(options.algorithm);
    this.hparams = resolveHparams(options);
    this.random = new Random(options.seed ?? 0);
    this.maker = new OptimizerMaker(options.optimization ?? {}, this.hparams, options.device ?? "cpu");
    const { backbone, built, classifier, root, optimizers } = allOrNothing(() => this.build(options));
    this.backbone = backbone;
    this.built = built;
    this.classifier = classifier;
    this.root = root;
    this.optimizers = optimizers;
  }

  /** Creates and initializes the modules, and creates the optimizers. */
  private build(options: LearnerOptions) {
    const { algorithm, classes, domains } = options;
    const makeClassifier = options.makeClassifier ?? ((inputs, outputs) => new Linear(inputs, outputs));
    const { maker } = this;
    const backbone = maker.addBackbone(options.makeBackbone());
    const needed = algorithm.backbone?.stages;
    if (needed && (!backbone.stages || (needed === "maps" && !backbone.stagesAreMaps))) {
      throw new UsageError(
        `${algorithm.title} needs a backbone with intermediate maps, such as resnet18 or mobilenet_v2`,
      );
    }
    const backbones = new Set<Module>([backbone]);
    let classifier: Layer | undefined;
    const context: BuildContext = {
      backbone,
      // Created on first use, because some algorithms use another classifier.
      get classifier() {
        classifier ??= maker.addHead(makeClassifier(backbone.width, classes));
        return classifier;
      },
      classes,
      domains,
      hparams: this.hparams,
      copyBackbone: () => {
        const copy = maker.addBackbone(options.makeBackbone());
        backbones.add(copy);
        return copy;
      },
      makeClassifier: (inputs, outputs) => maker.addHead(makeClassifier(inputs, outputs)),
      adam: (parameters, settings) => maker.make(parameters, settings),
    };
    const built = callHook(algorithm, "build", () => algorithm.build(context));
    checkBuilt(algorithm, built);
    const root = new Root(built.modules);
    // Backbones are already initialized. All other modules are initialized here, with random numbers keyed by their
    // names.
    for (const [name, module] of Object.entries(built.modules)) {
      if (!backbones.has(module)) module.initialize(this.random.for("initial values", name));
    }
    root.to(this.place).train();
    const optimizers: Learner["optimizers"] = built.step
      ? { main: this.mainOptimizer(built, root) }
      : { ...built.optimizers };
    maker.checkRates(algorithm.title);
    return { backbone, built, classifier, root, optimizers };
  }

  /** The device of the tensors, and the memory format of tensors with four dimensions. */
  get place(): Place {
    const { device = "cpu", channelsLast = false } = this.options;
    return { device, memoryFormat: channelsLast ? "channels_last" : undefined };
  }

  /** Makes one update with one minibatch per training domain, and returns the scalars that the algorithm logs. */
  update(domains: readonly Minibatch[], step: number): Record<string, number> {
    return scope(() => {
      const logs = toNumbers(this.launch(toBatch(domains, this.options.domains), { step }));
      for (const [name, value] of Object.entries(logs)) checkFinite(name, value, step);
      return logs;
    });
  }

  /** Makes one update without reading its scalars, so that nothing waits for a GPU. Call it in a scope. */
  launch(
    batch: Batch,
    { step, random = this.randomAt(step), watch, notice, onSchedule, captured = false }: Launch,
  ): Scalars {
    const draw = this.options.drawsAt?.(step) ?? keyedDraws(random.for("algorithm"));
    if (!captured) this.prepare(batch, step, this.options.drawsAt && draw);
    const hostNumbers = random.for("algorithm");
    const prepared: StepContext["prepared"] = (shape, compute) => {
      const target = empty(shape, { dtype: "float64", device: batch.x.device });
      return hostNumbers.next("prepared").numbers_(target, () => compute(this.host!));
    };
    const ofBatch: RowLabels = { y: batch.y, domains: () => domainLabels(batch) };
    const penalty: StepContext["penalty"] = (features, logits, given) => {
      this.penaltyCheck.taken();
      const labels = given === undefined && features.rows === batch.y.rows ? ofBatch : given;
      return this.penalty({ features, logits, ...labels, weights: () => this.weights(), step, watch, notice });
    };
    const checked: StepContext["checked"] = (loss) => {
      if (loss.device === "cpu") checkFinite("loss", loss.item(), step);
      return loss;
    };
    const schedule: StepContext["schedule"] = (at) => {
      onSchedule?.(at);
      return at(step);
    };
    const ctx: StepContext = { step, schedule, draw, prepared, penalty, checked };
    if (captured) Object.defineProperty(ctx, "step", { get: refuseStep });
    const scalars = withRandom(random.for("layers"), () => this.apply(batch, ctx, captured));
    this.penaltyCheck.afterUpdate(this.phaseAt(step), this.backbone);
    return scalars;
  }

  /**
   * Sets the host's inputs of an update: learning rates, draws and labels. Must be called before a captured update is
   * replayed.
   */
  prepare(
    batch: Partial<Pick<Batch, "y" | "labels">>,
    step: number,
    draw = keyedDraws(this.randomAt(step).for("algorithm")),
  ): void {
    this.maker.setStep(step, Object.values(this.optimizers));
    this.host = {
      draw,
      get labels() {
        return batch.labels ?? batch.y!.toNumbers();
      },
    };
  }

  /** Whether `prepare` sets other learning rates at each step. */
  get isPreparedByStep(): boolean {
    return this.maker.hasSchedule;
  }

  /** Returns the source of random draws for a step. */
  randomAt(step: number): Random {
    return this.random.for("step", step);
  }

  /** Throws an error if penalties were active and the algorithm never used them. Must be called at the end of a run. */
  checkPenalties(): void {
    this.penaltyCheck.atEnd();
  }

  /** Returns which regularizers are active at a step. A captured update can be replayed until this changes. */
  phaseAt(step: number): string {
    const active = (this.options.regularizers ?? []).filter((regularizer) => regularizer.isActive(step));
    return active.map(({ id }) => id).join(" ");
  }

  /** Returns true if the update of a step trains only classifiers. */
  trainsHeadsOnly(step: number): boolean {
    return this.maker.trainsHeadsOnly(step);
  }

  private apply(batch: Batch, ctx: StepContext, captured: boolean): Scalars {
    const compute = <T>(body: () => T): T => withPrecision(this.options.precision ?? "float32", body);
    const { built } = this;
    const { algorithm } = this.options;
    if (!built.step) return callHook(algorithm, "update", () => compute(() => built.update(batch, ctx)));
    const outcome = callHook(algorithm, "step", () => compute(() => built.step(batch, ctx)));
    checkOutcome(this.options.algorithm, outcome);
    const term = outcome.features && ctx.penalty(outcome.features, outcome.logits, outcome.labels);
    const loss = term ? outcome.loss.add(term) : outcome.loss;
    ctx.checked(loss); // before the weights change
    if (outcome.resetOptimizer) {
      if (captured) throw new NotCapturable("it resets its optimizer");
      this.optimizers.main.dispose();
      const { resetOptimizer } = outcome;
      const settings = typeof resetOptimizer === "object" ? resetOptimizer : {};
      this.optimizers.main = this.mainOptimizer(built, this.root, settings);
    }
    this.optimizers.main.zeroGrad();
    loss.backward();
    callHook(algorithm, "afterBackward", () => built.afterBackward?.(batch, ctx));
    this.optimizers.main.step();
    return { loss, ...outcome.logs };
  }

  /**
   * Returns the trained weights and their initial values, which are recomputed from the settings and not part of the
   * state.
   */
  private weights(): TrainedWeights {
    this.start ??= this.startingBackbone();
    const start = this.start.parameters();
    const pairs = this.backbone.parameters().map((now, i) => ({ now, start: start[i] }));
    const head = (this.classifier ?? this.built.modules.classifier)?.parameters() ?? [];
    return { backbone: pairs.filter(({ now }) => now.requiresGrad), head: head.filter((each) => each.requiresGrad) };
  }

  private startingBackbone(): Backbone {
    const backbone = this.options.makeBackbone();
    const [first] = this.backbone.parameters();
    return backbone.to({ ...this.place, ...(first && { dtype: first.dtype }) });
  }

  private penalty(result: StepResult): Tensor | null {
    return (this.options.regularizers ?? []).reduce<Tensor | null>((sum, regularizer) => {
      const term = regularizer.term(result);
      return sum && term ? sum.add(term) : (term ?? sum);
    }, null);
  }

  private mainOptimizer(
    { parameters }: LossAlgorithm,
    root: Module,
    settings: { readonly lr?: number } = {},
  ): Optimizer {
    return this.maker.make(parameters ?? root.parameters(), settings);
  }

  /** Returns the logits of a batch, without a graph and in evaluation mode. */
  predict(x: Tensor): Tensor {
    return this.compute(x, (input) => this.built.predict(input), { training: false });
  }

  /** Like `predict`, but in training mode, for layers that update statistics. */
  predictInTraining(x: Tensor, random: Random): Tensor {
    return withRandom(random, () => this.compute(x, (input) => this.built.predict(input), { training: true }));
  }

  /**
   * Returns the features of a batch, without a graph and in evaluation mode, or null if the backbone needs additional
   * input channels.
   */
  features(x: Tensor): Tensor | null {
    if (this.options.algorithm.backbone?.extraChannels) return null;
    const forward = (input: Tensor): Tensor => this.built.features?.(input) ?? this.backbone.forward(input);
    return this.compute(x, forward, { training: false });
  }

  /** Returns the mean cross-entropy of a batch in evaluation mode, with a graph if gradients are enabled. */
  evaluationLoss(x: Tensor, y: Tensor): Tensor {
    this.root.train(false);
    try {
      return scope(() =>
        withPrecision(this.options.precision ?? "float32", () => crossEntropy(this.built.predict(x), y)),
      );
    } finally {
      this.root.train();
    }
  }

  /** Whether a batch can be padded for a prediction on a GPU. */
  get padsPredictions(): boolean {
    return !predictsByBatch(this.options.algorithm, this.hparams);
  }

  /**
   * Returns the number of rows to which a batch is padded for a prediction on a GPU: that of a training batch, for which
   * plans exist, or of an evaluation.
   */
  rowsOfPrediction(x: Tensor): number {
    if (x.device === "cpu" || !this.padsPredictions) return x.rows;
    const sizes = [this.hparams.batchSize * this.options.domains, 96, 256].sort((a, b) => a - b);
    return sizes.find((size) => size >= x.rows) ?? x.rows;
  }

  private compute(x: Tensor, forward: (x: Tensor) => Tensor, { training }: { training: boolean }): Tensor {
    this.root.train(training);
    try {
      return noGrad(() =>
        scope(() => {
          const input = training ? x : paddedRows(x, this.rowsOfPrediction(x));
          const made = withPrecision(this.options.precision ?? "float32", () => forward(input));
          return input === x ? made : made.narrow(0, 0, x.rows);
        }),
      );
    } finally {
      this.root.train();
    }
  }

  /** Returns the Frobenius norm of the classifier's weights, without biases, or null if there is no such classifier. */
  headNorm(): number | null {
    const weights = this.classifier?.parameters().filter(({ shape }) => shape.length > 1);
    return weights ? scope(() => Math.hypot(...weights.map((weight) => weight.detach().norm().item()))) : null;
  }

  /** The algorithm's modules by the names used in saved files. */
  get modules(): Readonly<Record<string, Module>> {
    return this.built.modules;
  }

  /**
   * Returns parameters by name, without frozen ones. They are the tensors themselves, which averaging followers
   * observe.
   */
  parameters(): Map<string, Tensor> {
    return new Map([...this.root.namedParameters()].filter(([, { frozen }]) => !frozen));
  }

  /**
   * Returns the number of trained parameters, the number of all parameters, and the bytes of all weights, gradients and
   * optimizer states.
   */
  size(): { readonly trained: number; readonly all: number; readonly bytes: number } {
    const all = new Set([...this.root.namedParameters()].map(([, parameter]) => parameter));
    const moved = Object.values(this.optimizers).flatMap((optimizer) =>
      optimizer.groups.flatMap(({ entries }) => entries.map(({ parameter }) => ({ parameter, kept: optimizer.kept }))),
    );
    const trained = new Set(moved.map(({ parameter }) => parameter));
    const memory = moved.reduce((sum, { parameter, kept }) => sum + parameter.numel * kept, 0);
    const [count, trainedCount] = [all, trained].map((each) => [...each].reduce((sum, { numel }) => sum + numel, 0));
    return { trained: trainedCount, all: count, bytes: 4 * (count + trainedCount + memory) };
  }

  /** Returns the state that must be saved to resume bit for bit. */
  state(): LearnerState {
    const tensors = new Map<string, Tensor>();
    const numbers: LearnerState["numbers"] = {};
    for (const [name, tensor] of this.stateDict()) tensors.set(`model/${name}`, tensor);
    for (const [id, optimizer] of Object.entries(this.optimizers)) {
      const state = optimizer.state();
      numbers[id] = state.numbers;
      for (const [name, tensor] of state.tensors) tensors.set(`optimizer/${id}/${name}`, tensor);
    }
    return { tensors, numbers };
  }

  /** Restores a saved state by copying. */
  loadState({ tensors, numbers }: LearnerState): void {
    this.loadStateDict(under("model/", tensors));
    for (const [id, optimizer] of Object.entries(this.optimizers)) {
      optimizer.loadState({ tensors: under(`optimizer/${id}/`, tensors), numbers: numbers[id] ?? {} });
    }
  }

  /** Returns parameters and buffers of all modules by name. They are the tensors themselves. */
  stateDict(): Map<string, Tensor> {
    return this.root.stateDict();
  }

  loadStateDict(state: ReadonlyMap<string, Tensor>): void {
    this.root.loadStateDict(state);
  }

  dispose(): void {
    for (const optimizer of Object.values(this.optimizers)) optimizer.dispose();
    this.maker[Symbol.dispose]();
    this.start?.dispose();
    this.root.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function refuseStep(): never {
  throw new NotCapturable("it depends on the step number");
}

/** Returns the tensors whose names have a prefix, without the prefix. */
export function under(prefix: string, tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const own = [...tensors].filter(([name]) => name.startsWith(prefix));
  return new Map(own.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
}

/** Concatenates minibatches to one batch. */
function toBatch(domains: readonly Minibatch[], expected: number): Batch {
  if (domains.length !== expected)
    throw new UsageError(`an update needs a minibatch of each training domain, ${expected}; got ${domains.length}`);
  const [{ x, y }] = domains;
  if (domains.length === 1) return { domains, x, y };
  return { domains, x: cat(domains.map((each) => each.x)), y: cat(domains.map((each) => each.y)) };
}

function resolveHparams({ algorithm, hparams = {} }: LearnerOptions): Learner["hparams"] {
  const defaults = Object.fromEntries(Object.entries(algorithm.hparams).map(([name, each]) => [name, each.default]));
  const known = [...Object.keys(defaults), ...Object.keys(SHARED)];
  const unknown = Object.keys(hparams).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownName(`hyperparameter of ${algorithm.title}`, unknown, known));
  return { ...SHARED, ...defaults, ...hparams };
}

/** Throws an error if a scalar is not finite. */
function checkFinite(name: string, value: number, step: number): void {
  if (Number.isFinite(value)) return;
  const what = name === "loss" ? "the loss" : name;
  throw new EngineError(`${what} at step ${step} is ${value}. Reduce the learning rate, or check the inputs`, "loss");
}

function toNumbers(logs: Readonly<Record<string, Tensor | number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(logs).map(([name, value]) => [name, value instanceof Tensor ? value.item() : value]),
  );
}
