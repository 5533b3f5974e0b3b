/**
 * The base class of all optimizers: parameter groups with their own settings, a step that frees its temporary tensors,
 * and a state that can be saved and restored to resume training bit for bit.
 *
 * As in PyTorch, a step skips parameters without a gradient: it does not apply weight decay to them, and they have no
 * state before their first gradient.
 */

import { unknownName } from "../closest-name.js";
import { cloneAll, copyAll, zerosLikeAll } from "../engine/many-tensors.js";
import { stack } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, Tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import { mismatchesOf, shortenError } from "./mismatches.js";

/** Settings of every optimizer. They can be changed between steps for each group. */
export interface Settings {
  /** The learning rate. */
  lr: number;
  weightDecay: number;
}

/** Parameters that share settings. Settings that are missing here are those of the optimizer. */
export type ParameterGroup<S extends Settings = Settings> = Partial<S> & { parameters: Iterable<Tensor> };

/** The parameters to train, in one group or in several groups. */
export type Parameters<S extends Settings = Settings> = Iterable<Tensor> | Iterable<ParameterGroup<S>>;

/** A parameter and its state, which is empty before the first gradient. */
export interface Entry {
  readonly parameter: Tensor;
  /** State tensors by name, such as `exp_avg`. */
  readonly state: Map<string, Tensor>;
  /** The number of steps of this parameter, if it is counted on the host. */
  steps: number;
  /**
   * The device and dtype of the parameter, cached at its first step because the query takes as long as a small
   * operator.
   */
  deviceAndDtype?: string;
}

/** The parameters of a group that have gradients and share a device and a dtype. */
export interface Part {
  readonly entries: Entry[];
  readonly gradients: Tensor[];
}

/** A parameter group with resolved settings. */
export type Group<S extends Settings = Settings> = S & { readonly entries: readonly Entry[] };

/** The state of an optimizer, with everything that is needed to resume. */
export interface OptimizerState {
  /** The key `0.3.exp_avg` means group 0, parameter 3. These are the optimizer's own tensors, not copies. */
  tensors: Map<string, Tensor>;
  /** Keys such as `0.lr` and `0.weightDecay` of group 0, and `0.3.steps`. */
  numbers: Record<string, number>;
}

/** The name of the step count in GPU state, where a captured graph can increment it. */
export const DEVICE_STEPS = "step";

export abstract class Optimizer<S extends Settings = Settings> implements Disposable {
  /** The factor of the learning rates, which a schedule sets. It is not part of the state. */
  factor = 1;
  /**
   * The factor for parameters on a GPU, in GPU state, where a captured graph reads it at each replay. Null without a
   * schedule. The update runs with the full learning rate and is then partly undone, which is equivalent for every
   * optimizer whose steps are proportional to the learning rate.
   */
  deviceFactor: Tensor | null = null;
  /** The maximum norm of all gradients together. Larger gradients are scaled down to it before a step. */
  clipNorm: number | null = null;
  /**
   * Groups that a step skips even if they have gradients. Their state does not change. This set is not part of the
   * state.
   */
  skippedGroups: ReadonlySet<Group<S>> = new Set();
  /** The parameter groups. Their settings can be changed: `optimizer.groups[0].lr = 1e-4`. */
  readonly groups: readonly Group<S>[];

  /**
   * Settings of a group override those of the optimizer, which override `defaults`. `defaults` contains every setting.
   */
  constructor(parameters: Parameters<S>, settings: Partial<S>, defaults: S) {
    this.groups = toGroups(parameters).map(({ parameters: own, ...overrides }) => {
      const group = { ...defaults, ...definedSettings(settings, defaults), ...definedSettings(overrides, defaults) };
      this.check(group);
      return { ...group, entries: Array.from(own, (parameter) => ({ parameter, state: new Map(), steps: 0 })) };
    });
    checkParameters(this.groups.flatMap(({ entries }) => entries.map(({ parameter }) => parameter)));
  }

  /** The names of the state tensors of each parameter. */
  protected abstract readonly names: readonly string[];

  /** The number of state tensors per parameter. */
  get kept(): number {
    return this.names.length;
  }

  /** Throws an error for invalid settings. Optimizers with more settings extend it. */
  protected check({ lr, weightDecay }: S): void {
    checkRange("lr", lr, 0, Number.MAX_VALUE);
    checkRange("weightDecay", weightDecay, 0, Number.MAX_VALUE);
  }

  /**
   * Updates the parameters of one group on the CPU. No graph is recorded, and temporary tensors are freed after the
   * step.
   */
  protected abstract updateOnHost(group: Group<S>, part: Part): void;

  /** Updates parameters on one GPU with the same dtype, as multi-tensor operators require. */
  protected abstract updateOnDevice(group: Group<S>, part: Part): void;

  /** Updates every parameter that has a gradient. */
  step(): void {
    noGrad(() =>
      scope(() => {
        if (this.clipNorm !== null) this.clip(this.clipNorm);
        for (const group of this.groups) {
          if (this.skippedGroups.has(group)) continue;
          this.check(group);
          for (const [deviceAndDtype, part] of partsOf(group.entries)) {
            if (deviceAndDtype.startsWith("cpu"))
              this.updateOnHost(this.factor === 1 ? group : this.scaled(group), part);
            else this.updatePart(group, part);
          }
        }
      }),
    );
  }

  /** Updates parameters on a GPU. An error lists the mismatches instead of all tensors. */
  private updatePart(group: Group<S>, part: Part): void {
    try {
      if (this.deviceFactor) this.updateInPart(group, part, this.deviceFactor);
      else this.updateOnDevice(this.factor === 1 ? group : this.scaled(group), part);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new EngineError(shortenError(error, this.mismatches()), error.operator, [], { cause: error });
    }
  }

  private scaled(group: Group<S>): Group<S> {
    return { ...group, lr: group.lr * this.factor };
  }

  /** Runs an update and keeps only the fraction `share` of it. */
  private updateInPart(group: Group<S>, part: Part, share: Tensor): void {
    const parameters = part.entries.map(({ parameter }) => parameter);
    const values = cloneAll(parameters);
    this.updateOnDevice(group, part);
    const fraction = share.toDType(parameters[0].dtype); // all have one dtype
    for (const [i, value] of values.entries()) value.lerpTensor_(parameters[i], fraction);
    copyAll(parameters, values);
  }

  /** Scales all gradients down if their norm is too large, as PyTorch's clip_grad_norm_ does. */
  private clip(largest: number): void {
    const updated = this.groups.filter((group) => !this.skippedGroups.has(group));
    const gradients = updated.flatMap(({ entries }) => entries.flatMap(({ parameter }) => parameter.grad ?? []));
    if (gradients.length === 0) return;
    const norm = stack(gradients.map((gradient) => gradient.norm().toDType("float64"))).norm();
    const share = norm.add(1e-6).reciprocal().mul(largest).clamp(null, 1);
    for (const gradient of gradients) gradient.mul_(share.toDType(gradient.dtype));
  }

  /** Describes the gradients and state tensors that a fused kernel would reject. Empty if there are none. */
  mismatches(): string[] {
    return this.groups.flatMap(({ entries }) =>
      entries.flatMap(({ parameter, state }) => {
        const stateTensor = this.names.flatMap((name) => (state.has(name) ? [[name, state.get(name)!] as const] : []));
        return mismatchesOf(parameter, stateTensor);
      }),
    );
  }

  /** Clears the gradients. */
  zeroGrad(): void {
    for (const { entries } of this.groups) for (const { parameter } of entries) parameter.grad = null;
  }

  /** The learning rate of the first group. Setting it changes all groups. */
  get learningRate(): number {
    return this.groups[0].lr;
  }

  set learningRate(lr: number) {
    checkRange("lr", lr, 0, Number.MAX_VALUE);
    for (const group of this.groups) group.lr = lr;
  }

  /** Returns the state to save. The tensors are the optimizer's own: write or clone them before the next step. */
  state(): OptimizerState {
    const tensors = new Map<string, Tensor>();
    const numbers: Record<string, number> = {};
    this.groups.forEach((group, g) => {
      numbers[`${g}.lr`] = group.lr;
      numbers[`${g}.weightDecay`] = group.weightDecay;
      group.entries.forEach(({ state, steps }, i) => {
        if (state.size === 0) return;
        for (const name of this.names) tensors.set(`${g}.${i}.${name}`, state.get(name)!);
        numbers[`${g}.${i}.steps`] = state.get(DEVICE_STEPS)?.item() ?? steps;
      });
    });
    return { tensors, numbers };
  }

  /** Restores a saved state by copying. All mismatches are reported in one error, before anything changes. */
  loadState({ tensors, numbers }: OptimizerState): void {
    const known = new Set<string>();
    const wrong: string[] = [];
    this.groups.forEach((group, g) => {
      for (const key of [`${g}.lr`, `${g}.weightDecay`]) {
        known.add(key);
        if (!(numbers[key] >= 0)) wrong.push(`${key} is missing or negative`);
      }
      group.entries.forEach(({ parameter }, i) => {
        const keys = this.names.map((name) => `${g}.${i}.${name}`);
        const saved = keys.filter((key) => tensors.has(key));
        const steps = `${g}.${i}.steps`;
        for (const key of [...keys, steps]) known.add(key);
        if (saved.length === 0 && !(steps in numbers)) return;
        for (const key of keys) if (!tensors.has(key)) wrong.push(`${key} is missing`);
        if (!(Number.isInteger(numbers[steps]) && numbers[steps] > 0)) wrong.push(`${steps} is missing or no count`);
        for (const key of saved) {
          const { shape, dtype } = tensors.get(key)!;
          if (`${shape}` === `${parameter.shape}` && dtype === parameter.dtype) continue;
          wrong.push(`${key} is ${dtype}[${shape.join(", ")}], its parameter ${parameter.describe()}`);
        }
      });
    });
    for (const key of [...tensors.keys(), ...Object.keys(numbers)])
      if (!known.has(key)) wrong.push(`${key} is unexpected`);
    if (wrong.length > 0) {
      const shown = wrong.slice(0, 8).join("; ");
      const more = wrong.length > 8 ? ` and ${wrong.length - 8} more` : "";
      throw new UsageError(`loading the state of ${this.constructor.name}: ${shown}${more}. Is it of the same model?`);
    }
    noGrad(() => {
      for (const [g, group] of this.groups.entries()) this.loadGroup(group, g, { tensors, numbers });
    });
  }

  private loadGroup(group: Group<S>, g: number, { tensors, numbers }: OptimizerState): void {
    const settings: Settings = group;
    settings.lr = numbers[`${g}.lr`];
    settings.weightDecay = numbers[`${g}.weightDecay`];
    for (const [i, entry] of group.entries.entries()) {
      entry.steps = numbers[`${g}.${i}.steps`] ?? 0;
      if (entry.steps === 0) {
        clearState(entry);
        continue;
      }
      // Copy into existing tensors, because a captured graph reads them.
      for (const name of this.names) this.stateTensor(entry, name).copy_(tensors.get(`${g}.${i}.${name}`)!);
      entry.state.get(DEVICE_STEPS)?.fill_(entry.steps);
    }
  }

  /** Returns a state tensor of a parameter. It is created as zeros with the state layout of the parameter. */
  protected stateTensor({ parameter, state }: Entry, name: string): Tensor {
    let tensor = state.get(name);
    if (!tensor) {
      tensor = keep(parameter.zerosLike());
      state.set(name, tensor);
    }
    return tensor;
  }

  /** Returns state tensors of several parameters on one GPU. New ones are filled with zeros in a few launches. */
  protected stateTensors(entries: readonly Entry[], name: string): Tensor[] {
    const fresh = entries.filter(({ state }) => !state.has(name));
    const zeros = zerosLikeAll(fresh.map(({ parameter }) => parameter));
    for (const [i, { state }] of fresh.entries()) state.set(name, keep(zeros[i]));
    return entries.map(({ state }) => state.get(name)!);
  }

  /** Frees the state, but not the parameters. */
  dispose(): void {
    for (const { entries } of this.groups) entries.forEach(clearState);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Throws an error if a number is outside [from, to]. */
export function checkRange(name: string, value: number, from: number, to: number): void {
  if (!(value >= from && value <= to)) {
    throw new UsageError(`optimizer: ${name} should be a number from ${from} to ${to}, got ${value}`);
  }
}

function clearState({ state }: Entry): void {
  for (const tensor of state.values()) tensor.dispose();
  state.clear();
}

/** Groups the entries that have gradients by device and dtype. */
function partsOf(entries: readonly Entry[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  for (const entry of entries) {
    const gradient = entry.parameter.grad;
    if (gradient === null) continue;
    entry.deviceAndDtype ??= `${entry.parameter.device} ${entry.parameter.dtype}`;
    let part = parts.get(entry.deviceAndDtype);
    if (!part) {
      part = { entries: [], gradients: [] };
      parts.set(entry.deviceAndDtype, part);
    }
    part.entries.push(entry);
    part.gradients.push(gradient);
  }
  return parts;
}

/** Returns the settings that are defined. An unknown setting is an error. */
function definedSettings(settings: object, defaults: object): object {
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(defaults, name));
  if (unknown !== undefined)
    throw new UsageError(`optimizer: ${unknownName("setting", unknown, Object.keys(defaults))}`);
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function toGroups<S extends Settings>(parameters: Parameters<S>): { parameters: Iterable<Tensor> }[] {
  const items: (Tensor | ParameterGroup<S>)[] = [...parameters];
  const tensors = items.filter((item) => item instanceof Tensor);
  if (tensors.length === items.length) return [{ parameters: tensors }];
  const groups = items.filter((item): item is ParameterGroup<S> => !(item instanceof Tensor));
  if (tensors.length > 0) throw new UsageError("optimizer: expected parameters or groups of parameters, got a mixture");
  return groups;
}

function checkParameters(parameters: readonly Tensor[]): void {
  if (parameters.length === 0) throw new UsageError("optimizer: there are no parameters to train");
  if (new Set(parameters).size < parameters.length) {
    throw new UsageError("optimizer: a parameter is given twice, in one group or in two");
  }
  const inner = parameters.find((parameter) => !parameter.isLeaf);
  if (inner) throw new UsageError(`optimizer: ${inner.describe()} is computed from others; only leaves can be trained`);
}
