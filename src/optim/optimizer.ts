/**
 * What every optimizer shares: groups of parameters with settings of their own, a step that frees what it makes, and a
 * state that can be saved and put back so that training goes on bit for bit.
 *
 * A parameter without a gradient is left alone by a step, as in PyTorch: not even its weight decays, and nothing is
 * remembered of it until its first gradient.
 */

import { unknownName } from "../closest-name.js";
import { stack } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, Tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import { mismatchesOf, shortened } from "./mismatches.js";

/** Settings every optimizer has. They may be changed between steps, a group at a time. */
export interface Settings {
  /** The learning rate. */
  lr: number;
  weightDecay: number;
}

/** Parameters that share settings: those not given here are the optimizer's. */
export type ParameterGroup<S extends Settings = Settings> = Partial<S> & { parameters: Iterable<Tensor> };

/** The parameters to train, in one group or in several. */
export type Parameters<S extends Settings = Settings> = Iterable<Tensor> | Iterable<ParameterGroup<S>>;

/** A parameter and what is remembered of it: nothing before its first gradient. */
export interface Entry {
  readonly parameter: Tensor;
  /** By name, such as `exp_avg`. */
  readonly memory: Map<string, Tensor>;
  /** Steps it took part in, where they are counted on the host. */
  steps: number;
  /** Its device and dtype, looked up at its first step: asking takes as long as a small operator. */
  place?: string;
}

/** Parameters of a group that have gradients and lie in one place. */
export interface Part {
  readonly entries: Entry[];
  readonly gradients: Tensor[];
}

/** A group, its settings resolved. */
export type Group<S extends Settings = Settings> = S & { readonly entries: readonly Entry[] };

/** What an optimizer remembers: all it needs to go on. */
export interface OptimizerState {
  /** `0.3.exp_avg` for group 0, parameter 3. The optimizer's own tensors, not copies. */
  tensors: Map<string, Tensor>;
  /** `0.lr` and `0.weightDecay` of group 0; `0.3.steps`. */
  numbers: Record<string, number>;
}

/** The name under which a step count is kept on a GPU, where a captured graph must be able to advance it. */
export const DEVICE_STEPS = "step";

export abstract class Optimizer<S extends Settings = Settings> implements Disposable {
  /** What the learning rates are multiplied by in a step: a schedule sets it. It is no part of the state. */
  factor = 1;
  /**
   * The same for parameters on a GPU, in its memory, where a captured graph reads it at each replay; null where there is no
   * schedule. The step is made at the full rate and then taken back in part, which is the same for every optimizer whose steps are
   * proportional to the learning rate.
   */
  deviceFactor: Tensor | null = null;
  /** The largest norm of all gradients together: larger ones are scaled down to it before a step. */
  clipNorm: number | null = null;
  /** Groups that a step leaves alone, gradients or not; nothing is remembered of them either. It is no part of the state. */
  resting: ReadonlySet<Group<S>> = new Set();
  /** Settings may be set here: `optimizer.groups[0].lr = 1e-4`. */
  readonly groups: readonly Group<S>[];

  /** Settings of a group come before the optimizer's, and those before `defaults`, which name every setting there is. */
  constructor(parameters: Parameters<S>, settings: Partial<S>, defaults: S) {
    this.groups = toGroups(parameters).map(({ parameters: own, ...overrides }) => {
      const group = { ...defaults, ...given(settings, defaults), ...given(overrides, defaults) };
      this.check(group);
      return { ...group, entries: Array.from(own, (parameter) => ({ parameter, memory: new Map(), steps: 0 })) };
    });
    checkParameters(this.groups.flatMap(({ entries }) => entries.map(({ parameter }) => parameter)));
  }

  /** What is remembered of each parameter, by name. */
  protected abstract readonly names: readonly string[];

  /** How many numbers are remembered for each that is trained. */
  get kept(): number {
    return this.names.length;
  }

  /** Refuses settings that make no sense; an optimizer with more of them extends it. */
  protected check({ lr, weightDecay }: S): void {
    checkRange("lr", lr, 0, Number.MAX_VALUE);
    checkRange("weightDecay", weightDecay, 0, Number.MAX_VALUE);
  }

  /** Updates parameters of one group on the CPU. No graph is recorded, and what it makes is freed after the step. */
  protected abstract updateOnHost(group: Group<S>, part: Part): void;

  /** The same for parameters on one GPU, all of one dtype: what multi-tensor operators take. */
  protected abstract updateOnDevice(group: Group<S>, part: Part): void;

  /** Moves every parameter that has a gradient. */
  step(): void {
    noGrad(() =>
      scope(() => {
        if (this.clipNorm !== null) this.clip(this.clipNorm);
        for (const group of this.groups) {
          if (this.resting.has(group)) continue;
          this.check(group);
          for (const [place, part] of partsOf(group.entries)) {
            if (place.startsWith("cpu")) this.updateOnHost(this.factor === 1 ? group : this.scaled(group), part);
            else this.updatePart(group, part);
          }
        }
      }),
    );
  }

  /** Updates parameters on a GPU. An error lists what does not fit together, not the hundreds of tensors that were given. */
  private updatePart(group: Group<S>, part: Part): void {
    try {
      if (this.deviceFactor) this.updateInPart(group, part, this.deviceFactor);
      else this.updateOnDevice(this.factor === 1 ? group : this.scaled(group), part);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new EngineError(shortened(error, this.mismatches()), error.operator, [], { cause: error });
    }
  }

  private scaled(group: Group<S>): Group<S> {
    return { ...group, lr: group.lr * this.factor };
  }

  /** A step of which only a share is made. */
  private updateInPart(group: Group<S>, part: Part, share: Tensor): void {
    const before = part.entries.map(({ parameter }) => parameter.clone());
    this.updateOnDevice(group, part);
    for (const [i, { parameter }] of part.entries.entries())
      parameter.copy_(before[i].lerpTensor(parameter, share.toDType(parameter.dtype)));
  }

  /** Scales all gradients down where their norm is too large, as PyTorch's clip_grad_norm_ does. */
  private clip(largest: number): void {
    const moved = this.groups.filter((group) => !this.resting.has(group));
    const gradients = moved.flatMap(({ entries }) => entries.flatMap(({ parameter }) => parameter.grad ?? []));
    if (gradients.length === 0) return;
    const norm = stack(gradients.map((gradient) => gradient.norm().toDType("float64"))).norm();
    const share = norm.add(1e-6).reciprocal().mul(largest).clamp(null, 1);
    for (const gradient of gradients) gradient.mul_(share.toDType(gradient.dtype));
  }

  /** What of the gradients and of the memory a fused kernel would refuse, in words; empty where it would take all. */
  mismatches(): string[] {
    return this.groups.flatMap(({ entries }) =>
      entries.flatMap(({ parameter, memory }) => {
        const remembered = this.names.flatMap((name) => (memory.has(name) ? [[name, memory.get(name)!] as const] : []));
        return mismatchesOf(parameter, remembered);
      }),
    );
  }

  /** Forgets the gradients. */
  zeroGrad(): void {
    for (const { entries } of this.groups) for (const { parameter } of entries) parameter.grad = null;
  }

  /** The learning rate of the first group; setting it sets all groups'. */
  get learningRate(): number {
    return this.groups[0].lr;
  }

  set learningRate(lr: number) {
    checkRange("lr", lr, 0, Number.MAX_VALUE);
    for (const group of this.groups) group.lr = lr;
  }

  /** What must be saved to go on later. The tensors are the optimizer's own: write or clone them before the next step. */
  state(): OptimizerState {
    const tensors = new Map<string, Tensor>();
    const numbers: Record<string, number> = {};
    this.groups.forEach((group, g) => {
      numbers[`${g}.lr`] = group.lr;
      numbers[`${g}.weightDecay`] = group.weightDecay;
      group.entries.forEach(({ memory, steps }, i) => {
        if (memory.size === 0) return;
        for (const name of this.names) tensors.set(`${g}.${i}.${name}`, memory.get(name)!);
        numbers[`${g}.${i}.steps`] = memory.get(DEVICE_STEPS)?.item() ?? steps;
      });
    });
    return { tensors, numbers };
  }

  /** Copies a saved state in. Mismatches are reported in one error, before anything changes. */
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
        forget(entry);
        continue;
      }
      // Into the tensors there are, if there are: a captured graph goes on reading them.
      for (const name of this.names) this.remembered(entry, name).copy_(tensors.get(`${g}.${i}.${name}`)!);
      entry.memory.get(DEVICE_STEPS)?.fill_(entry.steps);
    }
  }

  /** What is remembered of a parameter under a name: zeros at first, laid out in memory as the parameter is. */
  protected remembered({ parameter, memory }: Entry, name: string): Tensor {
    let tensor = memory.get(name);
    if (!tensor) {
      tensor = keep(parameter.zerosLike());
      memory.set(name, tensor);
    }
    return tensor;
  }

  /** Frees what is remembered. The parameters are not the optimizer's to free. */
  dispose(): void {
    for (const { entries } of this.groups) entries.forEach(forget);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Refuses a number outside [from, to]. */
export function checkRange(name: string, value: number, from: number, to: number): void {
  if (!(value >= from && value <= to)) {
    throw new UsageError(`optimizer: ${name} should be a number from ${from} to ${to}, got ${value}`);
  }
}

function forget({ memory }: Entry): void {
  for (const tensor of memory.values()) tensor.dispose();
  memory.clear();
}

/** The entries that have gradients, by device and dtype. */
function partsOf(entries: readonly Entry[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  for (const entry of entries) {
    const gradient = entry.parameter.grad;
    if (gradient === null) continue;
    entry.place ??= `${entry.parameter.device} ${entry.parameter.dtype}`;
    let part = parts.get(entry.place);
    if (!part) {
      part = { entries: [], gradients: [] };
      parts.set(entry.place, part);
    }
    part.entries.push(entry);
    part.gradients.push(gradient);
  }
  return parts;
}

/** The settings that were given a value; one that there is not is an error. */
function given(settings: object, defaults: object): object {
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
