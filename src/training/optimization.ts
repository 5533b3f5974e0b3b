/**
 * How a run's optimizers are made: which kind, with which rates for which parameters, and what a schedule makes of them. All
 * optimizers of an algorithm come from here, those that it makes inside an update and those that replace another too, so
 * that none of them loses a setting.
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

/** What a run may set; what is absent is as in the reference: Adam, a constant rate, no clipping, one rate for all. */
export interface Optimization {
  readonly optimizer?: OptimizerDefinition;
  /** The optimizer's options. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** What learning rates are multiplied by at a step. */
  readonly rate?: (step: number) => number;
  /** The largest norm of all gradients of an optimizer together. */
  readonly clipNorm?: number;
  /** What the learning rate of classifiers is multiplied by. */
  readonly headLr?: number;
  /** What the learning rate of a block is multiplied by, once more for each block after it (backbones/depth.ts). */
  readonly layerDecay?: number;
  /** Updates at the start that move classifiers alone. */
  readonly headSteps?: number;
}

export class OptimizerMaker implements Disposable {
  private readonly heads = new Set<Tensor>();
  /** What the learning rates of the backbones' parameters are multiplied by, where they go by depth. */
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

  /** Makes known that a module is a classifier, whose learning rate may differ. */
  addHead<M extends Module>(module: M): M {
    if (this.knowsHeads) for (const parameter of module.parameters()) this.heads.add(parameter);
    return module;
  }

  /** Makes known that a module is a backbone, whose learning rates may go by depth. */
  addBackbone<B extends Backbone>(backbone: B): B {
    const { layerDecay = 1 } = this.optimization;
    if (layerDecay !== 1)
      for (const [parameter, rate] of depthRates(backbone, layerDecay)) this.rates.set(parameter, rate);
    return backbone;
  }

  /** Whether classifiers are treated in a way of their own. */
  private get knowsHeads(): boolean {
    return this.headLr !== 1 || this.headSteps > 0;
  }

  private get headSteps(): number {
    return this.optimization.headSteps ?? 0;
  }

  private get headLr(): number {
    return this.optimization.headLr ?? 1;
  }

  /** The run's optimizer for some parameters; `settings` that only Adam has count where it is Adam. */
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
    this.rest(optimizer);
    return optimizer;
  }

  /** Whether an update of this step moves classifiers alone. */
  movesHeadsOnly(step: number): boolean {
    return step < this.headSteps;
  }

  private rest(optimizer: Optimizer): void {
    const isHead = ({ entries }: Optimizer["groups"][number]): boolean =>
      entries.some(({ parameter }) => this.heads.has(parameter));
    if (this.headSteps > 0)
      optimizer.resting = new Set(
        this.movesHeadsOnly(this.step) ? optimizer.groups.filter((group) => !isHead(group)) : [],
      );
  }

  /** The groups, with parameters whose rates differ in groups of their own: those of a backbone by depth, then classifiers. */
  private withRates(parameters: Parameters<AdamSettings>, lr: number): ParameterGroup<AdamSettings>[] {
    const items: (Tensor | ParameterGroup<AdamSettings>)[] = [...parameters];
    if (items.length === 0)
      throw new UsageError(
        "freeze: one of the algorithm's optimizers has nothing left to train, because the whole backbone is frozen; freeze less of it",
      );
    const groups = items.every((item) => item instanceof Tensor)
      ? [{ parameters: items as Tensor[] }]
      : (items as ParameterGroup<AdamSettings>[]);
    if (!this.knowsHeads && this.rates.size === 0) return groups;
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

  /** Parameters by what their rate is multiplied by, in the order they come. */
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

  /** Refuses rates for classifiers, and by depth, where no optimizer of the algorithm has such parameters. */
  checkRates(title: string): void {
    const { layerDecay } = this.optimization;
    if (this.rates.size > 0 && !this.foundRate && [...this.rates.keys()].some(({ requiresGrad }) => requiresGrad))
      throw new UsageError(
        `layerDecay ${layerDecay}: ${title} makes the optimizer of its backbone itself; leave layerDecay out`,
      );
    if (!this.knowsHeads || this.foundHead) return;
    throw new UsageError(
      this.headSteps > 0
        ? `headFirst ${this.headSteps}: ${title} has no classifier that can be trained separately; remove headFirst`
        : `headLr ${this.headLr}: ${title} has no classifier whose learning rate can be set; remove headLr`,
    );
  }

  /** Sets the rates of a step, of the optimizers that there are and of those to be made in it. */
  setStep(step: number, optimizers: Iterable<Optimizer>): void {
    const { rate } = this.optimization;
    const all = [...optimizers];
    this.step = step;
    for (const optimizer of all) this.rest(optimizer);
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
