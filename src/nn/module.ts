/**
 * Modules: parameters and buffers under names, as in PyTorch, so that checkpoints of the field load. A module's own
 * properties are its contents: a Parameter, a StateBuffer or a Module assigned to `this.conv1` is found under "conv1".
 */

import type { DType } from "../engine/dtype.js";
import type { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, Tensor } from "../engine/tensor.js";
import type { MemoryFormat } from "../engine/wrap.js";
import { UsageError } from "../errors.js";

/** A tensor that outlives scopes and belongs to a module. Takes over the tensor it is made from. */
class Owned extends Tensor {
  constructor(source: Tensor) {
    if (source.kept) throw new UsageError(`${source.describe()} belongs to a module already; clone() it first`);
    super(source.release());
    this.kept = true;
  }
}

/** A tensor that is trained, or frozen for the whole of a run. */
export class Parameter extends Owned {
  /** Whether it stays as it is: `Module.parameters` leaves it out, and so do optimizers and averages. */
  frozen = false;

  constructor(source: Tensor) {
    super(source);
    this.requiresGrad_();
  }

  freeze(): this {
    this.frozen = true;
    this.requiresGrad_(false);
    return this;
  }
}

/** A tensor that is saved with the module but not trained, such as a running mean. */
export class StateBuffer extends Owned {}

/** What `loadStateDict` does about keys that do not fit. */
export interface LoadOptions {
  /** Keys of the state that may be left over: `(key) => key.startsWith("fc.")`. */
  ignoreUnexpected?: (key: string) => boolean;
  /** Keys of the module that may be missing from the state; they keep their values. */
  ignoreMissing?: (key: string) => boolean;
  /** Where the state comes from, for the error: a file's name. */
  from?: string;
}

/** Where tensors are and how they lie in memory: a memory format is for those of four dimensions. */
export interface Place {
  readonly device?: string;
  readonly memoryFormat?: MemoryFormat;
}

/** The tensor as a module that was moved there has its own: itself where it is so already. */
export function placed(tensor: Tensor, { device, memoryFormat }: Place): Tensor {
  return tensor.to({ device }).to({ memoryFormat: tensor.shape.length === 4 ? memoryFormat : undefined });
}

export abstract class Module implements Disposable {
  /** Whether dropout drops and batch norm uses the batch's statistics. */
  training = true;

  /** Child modules by name, in the order they were assigned. */
  *children(): Generator<[string, Module]> {
    for (const [name, value] of Object.entries(this)) if (value instanceof Module) yield [name, value];
  }

  /** This module and all below it, with dotted names; its own is `prefix`. */
  *modules(prefix = ""): Generator<[string, Module]> {
    yield [prefix, this];
    for (const [name, child] of this.children()) yield* child.modules(join(prefix, name));
  }

  private *own<T extends Tensor>(kind: new (source: Tensor) => T): Generator<[string, T]> {
    for (const [path, module] of this.modules()) {
      for (const [name, value] of Object.entries(module)) if (value instanceof kind) yield [join(path, name), value];
    }
  }

  /** All parameters, frozen ones too. */
  namedParameters(): Generator<[string, Parameter]> {
    return this.own(Parameter);
  }

  namedBuffers(): Generator<[string, StateBuffer]> {
    return this.own(StateBuffer);
  }

  /** Every parameter once, but those that are frozen. */
  parameters(): Parameter[] {
    const all = [...this.namedParameters()].map(([, parameter]) => parameter);
    return [...new Set(all)].filter(({ frozen }) => !frozen);
  }

  /** Parameters and buffers by name, module by module: the tensors themselves, not copies. */
  stateDict(): Map<string, Tensor> {
    return new Map(this.own<Tensor>(Owned));
  }

  /** Copies a state into parameters and buffers. All mismatches are reported in one error, before anything changes. */
  loadStateDict(state: ReadonlyMap<string, Tensor>, options: LoadOptions = {}): this {
    const { ignoreMissing, ignoreUnexpected, from } = options;
    const own = this.stateDict();
    const missing = [...own.keys()].filter((key) => !state.has(key) && !ignoreMissing?.(key));
    const unexpected = [...state.keys()].filter((key) => !own.has(key) && !ignoreUnexpected?.(key));
    const shaped = [...own].flatMap(([key, target]) => {
      const source = state.get(key);
      if (!source || `${source.shape}` === `${target.shape}`) return [];
      return [`${key}: expected [${target.shape.join(", ")}], got [${source.shape.join(", ")}]`];
    });
    if (missing.length + unexpected.length + shaped.length > 0) {
      const parts = [
        missing.length > 0 && `missing ${listed(missing)}`,
        unexpected.length > 0 && `unexpected ${listed(unexpected)}`,
        shaped.length > 0 && `wrong shape of ${listed(shaped)}`,
      ].filter(Boolean);
      const source = from === undefined ? "" : ` from ${from}`;
      throw new UsageError(`loading weights${source} into ${this.constructor.name}: ${parts.join("; ")}`);
    }
    noGrad(() => {
      for (const [key, target] of own) {
        const source = state.get(key);
        if (source) target.copy_(source);
      }
    });
    return this;
  }

  /** Switches this module and all below it to training. */
  train(mode = true): this {
    for (const [, module] of this.modules()) module.training = mode;
    return this;
  }

  /** Switches this module and all below it to evaluation. */
  eval(): this {
    return this.train(false);
  }

  /** Moves parameters and buffers to a device, dtype or memory format; integer buffers keep their dtype. */
  to({ dtype, ...place }: Place & { dtype?: DType }): this {
    noGrad(() => {
      for (const tensor of this.stateDict().values()) {
        scope(() => {
          const floating = tensor.dtype.includes("float");
          tensor.share_(placed(floating ? tensor.to({ dtype }) : tensor, place));
        });
      }
    });
    return this;
  }

  /** Draws new starting values for every layer below, each keyed by its name: the order of layers does not matter. */
  initialize(random: Random): this {
    noGrad(() => {
      for (const [name, module] of this.modules()) module.reset(random.for(name));
    });
    return this;
  }

  /** Draws this layer's own starting values; layers with parameters override it. */
  protected reset(_random: Random): void {}

  /** Forgets the gradients. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.grad = null;
  }

  /** Frees the parameters and buffers. */
  dispose(): void {
    for (const tensor of this.stateDict().values()) tensor.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** A module from one tensor to one. */
export abstract class Layer extends Module {
  abstract forward(x: Tensor): Tensor;
}

/** Layers one after the other, named 0, 1, 2, … */
export class Sequential extends Layer {
  readonly layers: readonly Layer[];

  constructor(...layers: Layer[]) {
    super();
    this.layers = layers;
  }

  override *children(): Generator<[string, Module]> {
    for (const [i, layer] of this.layers.entries()) yield [String(i), layer];
  }

  forward(x: Tensor): Tensor {
    return this.layers.reduce((value, layer) => layer.forward(value), x);
  }
}

const join = (prefix: string, name: string): string => (prefix === "" ? name : `${prefix}.${name}`);

function listed(items: readonly string[]): string {
  const shown = items.slice(0, 8).join(", ");
  return items.length > 8 ? `${shown} and ${items.length - 8} more` : shown;
}
