/**
 * Creates a run's optimizers: the kind of optimizer, learning rates for groups of parameters, and the schedule. All
 * optimizers of an algorithm are created here, including those inside an update and those that replace another, so that
 * all of them use the settings.
 */

import type { Backbone } from "../backbones/backbone.js";
import { depthRates } from "../backbones/depth.js";
import { full } from "../engine/ops.generated.js";
import { keep } from "../engine/scope.js";
import { noGrad, Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { Module } from "../nn/index.js";
import {
  Adam,
  type AdamSettings,
  type Optimizer,
  type OptimizerDefinition,
  type ParameterGroup,
  type Parameters,
} from "../optim/index.js";

/**
 * Settings of a run. The defaults are those of DomainBed: Adam, a constant learning rate, no clipping, one rate for all
 * parameters.
 */
export interface Optimization {
  readonly optimizer?: OptimizerDefinition;
  /** The optimizer's options. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Returns the factor of the learning rates at a step. */
  readonly rate?: (step: number) => number;
  /** The maximum norm of all gradients of an optimizer together. */
  readonly clipNorm?: number;
  /** The factor of the learning rate of classifiers. */
  readonly headLr?: number;
  /** The factor of the learning rate per block, applied once for each later block (backbones/depth.ts). */
  readonly layerDecay?: number;
  /** The number of initial updates that train only classifiers. */
  readonly headSteps?: number;
}

export class OptimizerMaker implements Disposable {
  private readonly heads = new Set<Tensor>();
  /** The factors of the learning rates of the backbones' parameters, if they depend on depth. */
  private readonly rates = new Map<Tensor, number>();
  private readonly onDevice: Tensor | null;
  private foundHead = false;
  private foundRate = false;
  private factor = 1;
  private step = 0;

  constructor(
    private readonly optimization: Optimization,
    private readonly shared: { readonly lr: number; readonly weightDecay: number },
    device: string,
  ) {
    this.onDevice = optimization.rate && device !== "cpu" ? keep(full([], 1, { dtype: "float32", device })) : null;
  }

  /** Registers a module as a classifier, whose learning rate may differ. */
  addHead<M extends Module>(module: M): M {
    if (this.separatesHeads) for (const parameter of module.parameters()) this.heads.add(parameter);
    return module;
  }

  /** Registers a module as a backbone, whose learning rates may depend on depth. */
  addBackbone<B extends Backbone>(backbone: B): B {
    const { layerDecay = 1 } = this.optimization;
    if (layerDecay !== 1)
      for (const [parameter, rate] of depthRates(backbone, layerDecay)) this.rates.set(parameter, rate);
    return backbone;
  }

  /** Whether classifiers have separate settings. */
  private get separatesHeads(): boolean {
    return this.headLr !== 1 || this.headSteps > 0;
  }

  private get headSteps(): number {
    return this.optimization.headSteps ?? 0;
  }

  private get headLr(): number {
    return this.optimization.headLr ?? 1;
  }

  /**
   * Creates the run's optimizer for some parameters. `settings` that only Adam has are ignored for other optimizers.
   */
  make(parameters: Parameters<AdamSettings>, settings: Partial<AdamSettings> = {}): Optimizer {
    const { optimizer: definition, options = {}, clipNorm = null } = this.optimization;
    const { lr = this.shared.lr, weightDecay = this.shared.weightDecay, ...ofAdam } = settings;
    const usesAdam = definition === undefined || definition.id === "adam" || definition.id === "adamw";
    const groups = this.withRates(parameters, lr);
    const optimizer =
      definition === undefined
        ? new Adam(groups, { lr, weightDecay, ...ofAdam })
        : definition.make(groups, { lr, weightDecay, ...options, ...(usesAdam && ofAdam) });
    optimizer.factor = this.factor;
    optimizer.deviceFactor = this.onDevice;
    optimizer.clipNorm = clipNorm;
    this.updateSkippedGroups(optimizer);
    return optimizer;
  }

  /** Returns true if the update of this step trains only classifiers. */
  trainsHeadsOnly(step: number): boolean {
    return step < this.headSteps;
  }

  private updateSkippedGroups(optimizer: Optimizer): void {
    const isHead = ({ entries }: Optimizer["groups"][number]): boolean =>
      entries.some(({ parameter }) => this.heads.has(parameter));
    if (this.headSteps > 0)
      optimizer.skippedGroups = new Set(
        this.trainsHeadsOnly(this.step) ? optimizer.groups.filter((group) => !isHead(group)) : [],
      );
  }

  /**
   * Returns the parameter groups. Parameters with different learning rates are in separate groups: first those of a
   * backbone by depth, then classifiers.
   */
  private withRates(parameters: Parameters<AdamSettings>, lr: number): ParameterGroup<AdamSettings>[] {
    const items: (Tensor | ParameterGroup<AdamSettings>)[] = [...parameters];
    if (items.length === 0)
      throw new UsageError(
        "freeze: one of the algorithm's optimizers has nothing left to train, because the whole backbone is frozen; freeze less of it",
      );
    const groups = items.every((item) => item instanceof Tensor)
      ? [{ parameters: items as Tensor[] }]
      : (items as ParameterGroup<AdamSettings>[]);
    if (!this.separatesHeads && this.rates.size === 0) return groups;
    return groups.flatMap((group) => {
      const all = [...group.parameters];
      const heads = all.filter((parameter) => this.heads.has(parameter));
      if (heads.length > 0) this.foundHead = true;
      const others = all.filter((parameter) => !this.heads.has(parameter));
      const own = group.lr ?? lr;
      return [
        ...[...this.byRate(others)].map(([rate, part]) => ({
          ...group,
          ...(rate !== 1 && { lr: own * rate }),
          parameters: part,
        })),
        ...(heads.length > 0 ? [{ ...group, lr: own * this.headLr, parameters: heads }] : []),
      ];
    });
  }

  /** Groups parameters by the factor of their learning rate, in their order. */
  private byRate(parameters: readonly Tensor[]): Map<number, Tensor[]> {
    const parts = new Map<number, Tensor[]>();
    for (const parameter of parameters) {
      const rate = this.rates.get(parameter);
      if (rate !== undefined) this.foundRate = true;
      const part = parts.get(rate ?? 1);
      if (part) part.push(parameter);
      else parts.set(rate ?? 1, [parameter]);
    }
    return parts;
  }

  /**
   * Throws an error for learning rates of classifiers, or by depth, if no optimizer of the algorithm has such
   * parameters.
   */
  checkRates(title: string): void {
    const { layerDecay } = this.optimization;
    if (this.rates.size > 0 && !this.foundRate && [...this.rates.keys()].some(({ requiresGrad }) => requiresGrad))
      throw new UsageError(
        `layerDecay ${layerDecay}: ${title} makes the optimizer of its backbone itself; leave layerDecay out`,
      );
    if (!this.separatesHeads || this.foundHead) return;
    throw new UsageError(
      this.headSteps > 0
        ? `headFirst ${this.headSteps}: ${title} has no classifier that can be trained separately; remove headFirst`
        : `headLr ${this.headLr}: ${title} has no classifier whose learning rate can be set; remove headLr`,
    );
  }

  /** Whether learning rates depend on the step. */
  get hasSchedule(): boolean {
    return this.optimization.rate !== undefined;
  }

  /** Sets the learning rates of a step, for existing optimizers and for those created during it. */
  setStep(step: number, optimizers: Iterable<Optimizer>): void {
    const { rate } = this.optimization;
    const all = [...optimizers];
    this.step = step;
    for (const optimizer of all) this.updateSkippedGroups(optimizer);
    if (!rate) return;
    this.factor = rate(step);
    for (const optimizer of all) optimizer.factor = this.factor;
    const { onDevice } = this;
    if (onDevice) noGrad(() => onDevice.fill_(this.factor));
  }

  [Symbol.dispose](): void {
    this.onDevice?.dispose();
  }
}
