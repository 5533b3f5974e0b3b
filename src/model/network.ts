/**
 * Builds the network of a model file and loads its values: backbone and classifier, or the modules of an algorithm with
 * its own prediction (ARM, MTL, mDSDI). One pass returns logits and features; the features are the outputs of the
 * backbones of the prediction, concatenated if there are two.
 */

import { algorithms } from "../algorithms/index.js";
import { type Backbone, backbones } from "../backbones/index.js";
import { threads } from "../engine/device.js";
import { cat, zeros } from "../engine/ops.generated.js";
import { keep, Scope, scope } from "../engine/scope.js";
import { elementCount, type StoredTensor } from "../engine/stored-tensor.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { DataError, EngineError, UsageError } from "../errors.js";
import { BatchNorm, type Conv2d, type Fold, type Layer, Module, type Place, ProbeAndNeighbours } from "../nn/index.js";
import { Adam } from "../optim/index.js";
import { ProbedBackbone } from "../probe/probed-backbone.js";
import { METADATA_KEY, type ModelAbout } from "./about.js";
import { makeClassifier } from "./classifier.js";
import { DISTANCE_PREFIX } from "./domain-distance.js";
import { NetworkPlan } from "./network-plan.js";

/** The result of one pass for a batch. */
export interface Forward {
  readonly logits: Tensor; // [n, classes]
  readonly features: Tensor; // [n, width], concatenated if there are two backbones
}

/** Modules by their stored names. */
class Stored extends Module {
  constructor(readonly parts: Readonly<Record<string, Module>>) {
    super();
  }

  override *children(): Generator<[string, Module]> {
    yield* Object.entries(this.parts);
  }
}

interface Built {
  readonly modules: Readonly<Record<string, Module>>;
  readonly predict: (x: Tensor) => Tensor;
}

export class Network implements Disposable {
  private readonly root: Stored;
  private readonly predict: (x: Tensor) => Tensor;
  private readonly isPartial: boolean;
  private readonly watchedBackbones = new Set<Module>();
  private readonly recorded = new Map<Module, Tensor>();
  private readonly folds = new Map<Conv2d, Fold>();
  /** The shape of an input for which a plan may be made. */
  private planned?: readonly number[];
  private plan?: NetworkPlan;

  /** Builds the network that `about` describes, without values. `path` is for errors. */
  constructor(
    private readonly path: string,
    about: ModelAbout,
  ) {
    const built = inWords(path, () =>
      freeingOnFailure(() => build(path, about, () => this.watched(backboneOf(path, about)))),
    );
    const wanted = Object.entries(built.modules).filter(([name]) => about.modules.includes(name));
    this.root = new Stored(Object.fromEntries(wanted));
    for (const [name, module] of Object.entries(built.modules)) if (!about.modules.includes(name)) module.dispose();
    this.isPartial = wanted.length < Object.keys(built.modules).length;
    this.predict = built.predict;
    this.root.eval();
    const missing = about.modules.find((name) => !Object.hasOwn(this.root.parts, name));
    if (missing !== undefined) {
      this.dispose();
      throw new DataError(`${path}: ${METADATA_KEY}.modules: the network has no module "${missing}"`);
    }
  }

  /** The modules by their stored names. */
  get modules(): Readonly<Record<string, Module>> {
    return this.root.parts;
  }

  /** The number of backbones in a prediction, whose features are concatenated. */
  get backbones(): number {
    return Object.values(this.root.parts).filter((module) => this.watchedBackbones.has(module)).length;
  }

  /** Loads the values of a file. Tensors that are not part of the network are an error. */
  load(tensors: ReadonlyMap<string, Tensor>): void {
    const own = new Map([...tensors].filter(([name]) => !name.startsWith(DISTANCE_PREFIX)));
    const isFloat = ({ dtype }: Tensor): boolean => /^b?float/.test(dtype);
    for (const [name, target] of this.root.stateDict()) {
      const source = own.get(name);
      if (source && isFloat(source) !== isFloat(target))
        throw new DataError(`${this.path}: tensor "${name}": expected ${target.dtype}, got ${source.dtype}`);
    }
    inWords(this.path, () => this.root.loadStateDict(own));
  }

  /**
   * Tries one sample if modules were omitted as not needed: a file can claim that falsely, and this must be detected
   * before use.
   */
  check({ preprocessing }: ModelAbout): void {
    if (!this.isPartial) return;
    inWords(this.path, () => scope(() => void this.forward(zeros([1, ...preprocessing.inputShape]))));
  }

  to(place: Place): void {
    this.root.to(place);
  }

  /** Declares that the weights will not change. On the CPU, values that depend only on the weights are then computed once and cached. */
  keepFolds(): void {
    for (const [, layer] of this.root.modules()) if (layer instanceof BatchNorm) layer.keptFolds = this.folds;
  }

  /**
   * Declares that predictions of this shape run on the CPU, with weights that will not change. They may then use a plan. Small networks
   * without batch norms gain nothing from one, and keep the bits of their evaluations.
   */
  allowPlan(inputShape: readonly number[]): void {
    if ([...this.root.modules()].some(([, layer]) => layer instanceof BatchNorm)) this.planned = inputShape;
  }

  /** A classifier with stored pictures, which is computed after the plan of the backbone. */
  private get vote(): ProbeAndNeighbours | undefined {
    const { classifier } = this.modules;
    return classifier instanceof ProbeAndNeighbours ? classifier : undefined;
  }

  /** Whether predictions use a plan. It takes pictures with channels last. */
  get hasPlan(): boolean {
    return this.planForPredictions() !== undefined;
  }

  /** The plan, which is made when it is first needed; undefined if none is allowed, or the network has an operator that plans do not have. */
  private planForPredictions(): NetworkPlan | undefined {
    const { planned } = this;
    this.planned = undefined;
    if (planned) {
      const { backbone } = this.modules as { backbone?: Backbone };
      const forward = (x: Tensor): Record<string, Tensor> =>
        this.vote && backbone ? { features: backbone.forward(x) } : { ...this.forward(x) };
      const plan = this.withoutFolds(() => NetworkPlan.of(planned, forward));
      this.recorded.clear();
      if (typeof plan !== "string") this.plan = plan;
    }
    return this.plan;
  }

  /** Runs `body` with norms that are computed by themselves, so that no folds are kept for it. */
  private withoutFolds<T>(body: () => T): T {
    const norms = [...this.root.modules()].flatMap(([, layer]) => (layer instanceof BatchNorm ? [layer] : []));
    const before = norms.map(({ foldable }) => foldable);
    for (const norm of norms) norm.foldable = false;
    try {
      return body();
    } finally {
      for (const [i, norm] of norms.entries()) norm.foldable = before[i];
    }
  }

  /**
   * The same as `forward` except for rounding, for predictions: with a plan it is faster, and runs on other threads. Values that are
   * compared with the records of a run are computed by `forward`. The caller disposes of the tensors.
   */
  async forwardAside(x: Tensor): Promise<Forward> {
    const plan = this.planForPredictions();
    if (plan) {
      const { logits, features } = await plan.run(x, threads());
      return { logits: logits ?? scope(() => noGrad(() => keep(this.vote!.forward(features)))), features };
    }
    const { logits, features } = scope(() => {
      const forward = this.forward(x);
      return { logits: keep(forward.logits), features: keep(forward.features) };
    });
    return { logits, features };
  }

  /** Logits and features of a batch, without a graph; they belong to the enclosing scope. */
  forward(x: Tensor): Forward {
    this.recorded.clear();
    return noGrad(() =>
      scope(() => {
        const logits = this.predict(x);
        const parts = Object.values(this.root.parts).flatMap((module) => this.recorded.get(module) ?? []);
        this.recorded.clear();
        return { logits, features: parts.length === 1 ? parts[0] : cat(parts, 1) };
      }),
    );
  }

  /** A backbone whose outputs are recorded until the pass is over, whichever of its two methods is called. */
  private watched(backbone: Backbone): Backbone {
    const { forward, stages } = backbone;
    const recorded = (features: Tensor): Tensor => {
      this.recorded.set(backbone, features);
      return features;
    };
    backbone.forward = (x) => recorded(forward.call(backbone, x));
    if (stages) backbone.stages = (x, onStage) => recorded(stages.call(backbone, x, onStage));
    this.watchedBackbones.add(backbone);
    return backbone;
  }

  dispose(): void {
    this.root.dispose();
    for (const fold of this.folds.values()) for (const tensor of [fold.weight, fold.bias]) tensor.dispose();
    this.folds.clear();
    this.plan?.[Symbol.dispose]();
    this.plan = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function build(path: string, about: ModelAbout, makeBackbone: () => Backbone): Built {
  const { prediction, classes } = about;
  const classifierFor = (inputs: number, outputs: number): Layer =>
    makeClassifier(prediction.classifier, inputs, outputs, prediction.kind === "plain" ? prediction.stored : undefined);
  const backbone = makeBackbone();
  if (backbone.width !== about.width)
    throw new DataError(
      `${path}: ${METADATA_KEY}.width: expected ${about.backbone}'s ${backbone.width}, got ${about.width}`,
    );
  if (prediction.kind === "plain") {
    const classifier = classifierFor(backbone.width, classes.length);
    return { modules: { backbone, classifier }, predict: (x) => classifier.forward(backbone.forward(x)) };
  }
  const algorithm = Object.hasOwn(algorithms, prediction.id) ? algorithms[prediction.id] : undefined;
  if (!algorithm)
    throw new DataError(
      `${path}: its predictions use the algorithm "${prediction.id}", which is not known here; if a plug-in defines it, load the plug-in (--plugin)`,
    );
  const hparams = Object.fromEntries(
    Object.entries(algorithm.hparams).map(([name, { default: usual }]) => {
      const stored = Object.hasOwn(prediction.hparams, name) ? prediction.hparams[name] : usual;
      if (typeof stored !== typeof usual)
        throw new DataError(
          `${path}: ${METADATA_KEY}.prediction.hparams.${name}: expected a ${typeof usual}, got ${stored}`,
        );
      return [name, stored as typeof usual];
    }),
  );
  const batchSize = Number(prediction.hparams.batchSize ?? 32);
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new DataError(`${path}: ${METADATA_KEY}.prediction.hparams.batchSize: expected an integer of at least 1`);
  let classifier: Layer | undefined;
  const built = algorithm.build({
    backbone,
    get classifier() {
      classifier ??= classifierFor(backbone.width, classes.length);
      return classifier;
    },
    classes: classes.length,
    domains: prediction.domains,
    hparams: { lr: 0, weightDecay: 0, batchSize, classBalanced: false, ...hparams },
    copyBackbone: makeBackbone,
    makeClassifier: classifierFor,
    adam: (parameters, settings) => new Adam(parameters, settings), // has no state before its first step
  });
  return { modules: built.modules, predict: (x) => built.predict(x) };
}

function backboneOf(path: string, { backbone, backboneOptions }: ModelAbout): Backbone {
  if (!Object.hasOwn(backbones, backbone))
    throw new DataError(
      `${path}: ${METADATA_KEY}.backbone: unknown backbone "${backbone}" (known: ${Object.keys(backbones).join(", ")}); if a plug-in defines it, load the plug-in (--plugin)`,
    );
  const { probe, ...options } = backboneOptions;
  const body: Backbone = backbones[backbone as keyof typeof backbones].build(options);
  return probe ? new ProbedBackbone(body) : body;
}

/** Rejects widths and depths for which the file has too few tensors, before memory is allocated for them. */
export function checkSizes(path: string, about: ModelAbout, tensors: ReadonlyMap<string, StoredTensor>): void {
  const stored = [...tensors.values()].reduce((sum, { shape }) => sum + (elementCount(shape) ?? 0), 0);
  const neighbours = about.prediction.kind === "plain" ? (about.prediction.stored ?? 0) : 0;
  if (neighbours * (about.width + about.classes.length) > stored)
    throw new DataError(
      `${path}: ${METADATA_KEY}.prediction.stored: ${neighbours} pictures, but only ${stored} numbers in the file`,
    );
  const { width, depth = 0, inputShape } = about.backboneOptions;
  const inputs = inputShape.length === 1 ? inputShape[0] : 1;
  if (depth > tensors.size || (width !== undefined && width * Math.max(inputs, depth > 2 ? width : 1) > stored))
    throw new DataError(
      `${path}: ${METADATA_KEY}.backboneOptions: the file's ${tensors.size} tensors, ${stored} numbers, are too few for width ${width} and depth ${depth}`,
    );
  if (about.classes.length > stored)
    throw new DataError(
      `${path}: ${METADATA_KEY}.classes: ${about.classes.length} classes, but only ${stored} numbers in the file`,
    );
}

/** Parameters outlive scopes; those of a network that could not be built completely must not. */
function freeingOnFailure<T>(action: () => T): T {
  using made = new Scope();
  try {
    return made.run(action);
  } catch (error) {
    for (const tensor of made.tensors) tensor.dispose();
    throw error;
  }
}

/** Any error while the network of a file is built is reported as an error of the file. */
function inWords<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof UsageError || cause instanceof EngineError || cause instanceof RangeError)
      throw new DataError(`${path}: the file's network could not be built: ${cause.message}`, { cause });
    throw cause;
  }
}
