/** Builds an ONNX graph. Nodes are added in the order of execution, and constants when they are first used. */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { type Attribute, type Constant, ELEMENT, type Element, type Node } from "./onnx-messages.js";
import type { Size, TracedTensor } from "./trace.js";

/** The name of a value in the graph. */
export type Value = string;

export class OnnxGraph {
  readonly nodes: Node[] = [];
  readonly constants: Constant[] = [];
  private readonly values = new Map<TracedTensor, Value>();
  private readonly taken = new Set<string>();
  private readonly shared = new Map<string, Value>();
  private serial = 0;

  /** `names` maps handles to parameter names, so that the graph uses the names of the model file. */
  constructor(
    readonly input: Value,
    private readonly names: ReadonlyMap<number, string>,
  ) {}

  /** Adds a node and returns its first output. Nothing reads the `unread` others. */
  node(
    operator: string,
    inputs: readonly Value[],
    attributes: Readonly<Record<string, Attribute>> = {},
    unread = 0,
  ): Value {
    const output = `${operator}_${this.serial++}`;
    this.nodes.push({ operator, inputs, output, unread, attributes });
    return output;
  }

  /** Renames a value, for example to the name of an output. */
  rename(value: Value, name: string): void {
    this.nodes.push({ operator: "Identity", inputs: [value], output: name, attributes: {} });
  }

  /** Sets the value of a traced tensor. */
  bind(tensor: TracedTensor, value: Value): void {
    this.values.set(tensor, value);
  }

  /** The value of a traced tensor. A constant is written when it is first used. */
  value(tensor: TracedTensor): Value {
    const found = this.values.get(tensor);
    if (found !== undefined) return found;
    if (!tensor.constant) throw new UsageError("it uses an output of an operator that ONNX does not give");
    const axis = tensor.shape.findIndex((size) => typeof size !== "number");
    const written = this.weights(tensor, (constant) => (axis < 0 ? constant : constant.narrow(axis, 0, 1)));
    const value = axis < 0 ? written : this.node("Expand", [written, this.list(tensor.shape)]);
    this.values.set(tensor, value);
    return value;
  }

  /** A constant that `make` has transformed, under the name of its parameter. */
  weights(like: TracedTensor, make: (constant: Tensor) => Tensor): Value {
    const made = noGrad(() => scope(() => make(like.constant!).to({ device: "cpu" }).contiguous()));
    const name = this.names.get(like.source ?? -1) ?? "constant";
    const value = this.add(name, elementOf(made.dtype), made.shape, made.bytes());
    if (made !== like.constant) made.dispose();
    return value;
  }

  /** A constant of the translation, by default a list. Equal constants are written once. */
  numbers(values: readonly number[], { shape = [values.length], dtype = "float32" }: NumbersOptions = {}): Value {
    const key = `${dtype}[${shape}]:${values}`;
    const element = elementOf(dtype);
    const value =
      this.shared.get(key) ?? this.add("constant", element, shape, new Uint8Array(ARRAYS[element](values).buffer));
    this.shared.set(key, value);
    return value;
  }

  /** Sizes or axes, as an int64 list. */
  sizes(values: readonly number[]): Value {
    return this.numbers(values, { dtype: "int64" });
  }

  /** A list of sizes, some of which may depend on the batch size. */
  list(sizes: readonly Size[]): Value {
    if (sizes.every((size) => typeof size === "number")) return this.sizes(sizes);
    const parts = sizes.map((size) => {
      if (typeof size === "number") return this.sizes([size]);
      return size.batch === 1 ? this.batch() : this.node("Mul", [this.batch(), this.sizes([size.batch])]);
    });
    return parts.length === 1 ? parts[0] : this.node("Concat", parts, { axis: 0 });
  }

  private batchSize?: Value;

  /** The batch size, as a list with one element. */
  private batch(): Value {
    this.batchSize ??= this.node("Shape", [this.input], { start: 0, end: 1 });
    return this.batchSize;
  }

  private add(name: string, element: Element, shape: readonly number[], bytes: Uint8Array): Value {
    const own = this.taken.has(name) ? `${name}_${this.serial++}` : name;
    this.taken.add(own);
    this.constants.push({ name: own, element, shape, bytes });
    return own;
  }
}

interface NumbersOptions {
  shape?: readonly number[];
  dtype?: string;
}

const ARRAYS: Readonly<Record<Element, (values: readonly number[]) => ArrayBufferView<ArrayBuffer>>> = {
  float32: (values) => Float32Array.from(values),
  float64: (values) => Float64Array.from(values),
  int64: (values) => BigInt64Array.from(values, BigInt),
  uint8: (values) => Uint8Array.from(values),
  bool: (values) => Uint8Array.from(values),
};

/** The ONNX element type of a dtype. */
export function elementOf(dtype: string): Element {
  if (dtype in ELEMENT) return dtype as Element;
  throw new UsageError(`it computes in ${dtype}, which has no translation`);
}
