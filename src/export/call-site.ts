/**
 * One traced call with its arguments by name. The translation of the operator gives the default values of its schema.
 */

import { UsageError } from "../errors.js";
import { elementOf, type OnnxGraph, type Value } from "./onnx-graph.js";
import { type Attribute, ELEMENT } from "./onnx-messages.js";
import type { Size, TracedCall, TracedTensor } from "./trace.js";

export class CallSite {
  constructor(
    readonly graph: OnnxGraph,
    readonly call: TracedCall,
    /** The batch norm that is folded into the weights of this convolution, if any. */
    readonly norm?: TracedCall,
  ) {}

  /** The first output. */
  get out(): TracedTensor {
    return this.call.outputs[0];
  }

  has(name: string): boolean {
    return this.call.arguments[name] !== undefined && this.call.arguments[name] !== null;
  }

  /** A tensor argument. */
  tensor(name: string): TracedTensor {
    const value = this.call.arguments[name];
    if (typeof value === "object" && value !== null && "dtype" in value) return value as TracedTensor;
    return this.fail(`${name} is no tensor`);
  }

  /** A list of tensors. */
  tensors(name: string): readonly TracedTensor[] {
    return this.call.arguments[name] as readonly TracedTensor[];
  }

  /** A tensor or number as a value of the requested dtype. */
  in(name: string, dtype?: string): Value {
    const value = this.call.arguments[name];
    if (typeof value === "number" || typeof value === "boolean")
      return this.scalar(Number(value), dtype ?? this.out.dtype);
    return this.cast(this.tensor(name), dtype);
  }

  /** The value of a tensor in a dtype; by default its own. */
  cast(tensor: TracedTensor, dtype: string = tensor.dtype): Value {
    const value = this.graph.value(tensor);
    return tensor.dtype === dtype ? value : this.node("Cast", [value], { to: ELEMENT[elementOf(dtype)] });
  }

  scalar(value: number, dtype: string = this.out.dtype): Value {
    return this.graph.numbers([value], { shape: [], dtype });
  }

  number(name: string, usual?: number): number {
    const value = this.call.arguments[name] ?? usual;
    return typeof value === "number" || typeof value === "boolean"
      ? Number(value)
      : this.fail(`${name} depends on the batch size`);
  }

  /** A list of numbers. A single number is repeated `length` times. */
  numbers(name: string, usual: readonly number[], length = usual.length): readonly number[] {
    const value = this.call.arguments[name] ?? usual;
    const list = (Array.isArray(value) ? value : [value]) as readonly number[];
    if (!list.every((each) => typeof each === "number")) return this.fail(`${name} depends on the batch size`);
    return list.length === 1 && length > 1 ? new Array<number>(length).fill(list[0]) : list;
  }

  /** A dimension as a non-negative index. */
  axis(name: string, rank: number, usual?: number): number {
    return (this.number(name, usual) + rank) % rank;
  }

  node(operator: string, inputs: readonly Value[], attributes?: Readonly<Record<string, Attribute>>): Value {
    return this.graph.node(operator, inputs, attributes);
  }

  /**
   * Reshapes a value to the shape of the first output, or to another shape. At most one size may depend on the batch.
   */
  reshape(value: Value, shape: readonly Size[] = this.out.shape): Value {
    const free = shape.filter((size) => typeof size !== "number").length;
    const target =
      free > 1 ? this.graph.list(shape) : this.graph.sizes(shape.map((s) => (typeof s === "number" ? s : -1)));
    return this.node("Reshape", [value, target]);
  }

  fail(why: string): never {
    throw new UsageError(`${this.call.name}, in ${this.call.place}: ${why}`);
  }
}
