/**
 * Modules with named parameters and buffers, as in PyTorch, so that common checkpoints can be loaded. A Parameter, a
 * StateBuffer or a Module that is assigned to a property such as `this.conv1` is registered under that name.
 */

import type { DType } from "../engine/dtype.js";
import type { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, Tensor } from "../engine/tensor.js";
import type { MemoryFormat } from "../engine/wrap.js";
import { UsageError } from "../errors.js";

/** A tensor that belongs to a module and is not freed by scopes. It takes ownership of the source tensor. */
class OwnedTensor extends Tensor {
  constructor(source: Tensor) {
    if (source.kept) throw new UsageError(`${source.describe()} belongs to a module already; clone() it first`);
    super(source.release());
    this.kept = true;
  }
}

/** A tensor that is trained, or frozen for a whole run. */
export class Parameter extends OwnedTensor {
  /** Whether the parameter is frozen. `Module.parameters`, and therefore optimizers and averages, skip it. */
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
export class StateBuffer extends OwnedTensor {}

/** How `loadStateDict` handles keys that do not match. */
export interface LoadOptions {
  /** Returns true for keys of the state that may be unexpected: `(key) => key.startsWith("fc.")`. */
  ignoreUnexpected?: (key: string) => boolean;
  /** Returns true for keys of the module that may be missing from the state. These tensors keep their values. */
  ignoreMissing?: (key: string) => boolean;
  /** The source of the state for the error message, such as a file name. */
  from?: string;
}

/** A device and a memory format. The memory format applies only to tensors with four dimensions. */
export interface Place {
  readonly device?: string;
  readonly memoryFormat?: MemoryFormat;
}

/** Returns the tensor on this device and in this memory format, or the tensor itself if nothing changes. */
export function placed(tensor: Tensor, { device, memoryFormat }: Place): Tensor {
  return tensor.to({ device }).to({ memoryFormat: tensor.shape.length === 4 ? memoryFormat : undefined });
}

export abstract class Module implements Disposable {
  /** Whether the module is in training mode, which affects dropout and batch norm. */
  training = true;

  /** Yields child modules with their names, in the order in which they were assigned. */
  *children(): Generator<[string, Module]> {
    for (const [name, value] of Object.entries(this)) if (value instanceof Module) yield [name, value];
  }

  /** Yields this module and all its descendants with dotted names. The name of this module is `prefix`. */
  *modules(prefix = ""): Generator<[string, Module]> {
    yield [prefix, this];
    for (const [name, child] of this.children()) yield* child.modules(join(prefix, name));
  }

  private *own<T extends Tensor>(kind: new (source: Tensor) => T): Generator<[string, T]> {
    for (const [path, module] of this.modules()) {
      for (const [name, value] of Object.entries(module)) if (value instanceof kind) yield [join(path, name), value];
    }
  }

  /** Yields all parameters with their names, including frozen ones. */
  namedParameters(): Generator<[string, Parameter]> {
    return this.own(Parameter);
  }

  namedBuffers(): Generator<[string, StateBuffer]> {
    return this.own(StateBuffer);
  }

  /** Returns every parameter once, without frozen ones. */
  parameters(): Parameter[] {
    const all = [...this.namedParameters()].map(([, parameter]) => parameter);
    return [...new Set(all)].filter(({ frozen }) => !frozen);
  }

  /** Returns parameters and buffers by name. They are the tensors themselves, not copies. */
  stateDict(): Map<string, Tensor> {
    return new Map(this.own<Tensor>(OwnedTensor));
  }

  /** Copies a state into parameters and buffers. All mismatches are reported in one error, before anything changes. */
  loadStateDict(state: ReadonlyMap<string, Tensor>, options: LoadOptions = {}): this {
    const { ignoreMissing, ignoreUnexpected, from } = options;
    const own = this.stateDict();
    const missing = [...own.keys()].filter((key) => !state.has(key) && !ignoreMissing?.(key));
    const unexpected = [...state.keys()].filter((key) => !own.has(key) && !ignoreUnexpected?.(key));
    const wrongShapes = [...own].flatMap(([key, target]) => {
      const source = state.get(key);
      if (!source || `${source.shape}` === `${target.shape}`) return [];
      return [`${key}: expected [${target.shape.join(", ")}], got [${source.shape.join(", ")}]`];
    });
    // A copy would keep only the real parts.
    const complex = [...own.keys()].filter((key) => state.get(key)?.dtype.includes("complex"));
    if (missing.length + unexpected.length + wrongShapes.length + complex.length > 0) {
      const parts = [
        missing.length > 0 && `missing ${formatList(missing)}`,
        unexpected.length > 0 && `unexpected ${formatList(unexpected)}`,
        wrongShapes.length > 0 && `wrong shape of ${formatList(wrongShapes)}`,
        complex.length > 0 && `complex numbers in ${formatList(complex)}, expected real ones`,
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

  /** Sets this module and all its descendants to training mode. */
  train(mode = true): this {
    for (const [, module] of this.modules()) module.training = mode;
    return this;
  }

  /** Sets this module and all its descendants to evaluation mode. */
  eval(): this {
    return this.train(false);
  }

  /** Moves parameters and buffers to a device, dtype or memory format. Integer buffers keep their dtype. */
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

  /**
   * Draws new initial values for all layers. The random stream of a layer depends on its name and not on the order of
   * layers.
   */
  initialize(random: Random): this {
    noGrad(() => {
      for (const [name, module] of this.modules()) module.reset(random.for(name));
    });
    return this;
  }

  /** Draws the initial values of this layer. Layers with parameters override it. */
  protected reset(_random: Random): void {}

  /** Clears the gradients. */
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

/** A module that maps one tensor to another. */
export abstract class Layer extends Module {
  abstract forward(x: Tensor): Tensor;
}

/** Layers that are applied one after the other, named 0, 1, 2, … */
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

function formatList(items: readonly string[]): string {
  const shown = items.slice(0, 8).join(", ");
  return items.length > 8 ? `${shown} and ${items.length - 8} more` : shown;
}
