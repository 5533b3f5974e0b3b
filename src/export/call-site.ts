/** One traced call as its translation sees it: arguments by name, with the schema's defaults given by the translation. */

import { UsageError } from "../errors.js";
import { elementOf, type OnnxGraph, type Value } from "./onnx-graph.js";
import { type Attribute, ELEMENT } from "./onnx-messages.js";
import type { Size, TracedCall, TracedTensor } from "./trace.js";

export class CallSite {
  constructor(
    readonly graph: OnnxGraph,
    readonly call: TracedCall,
    /** The batch norm that goes into this convolution's weights, if one does. */
    readonly norm?: TracedCall,
  ) {}

  /** The first output. */
  get out(): TracedTensor {
    return this.call.outputs[0];
  }

  has(name: string): boolean {
    return this.call.arguments[name] !== undefined && this.call.arguments[name] !== null;
  }

  /** An argument that is a tensor. */
  tensor(name: string): TracedTensor {
    const value = this.call.arguments[name];
    if (typeof value === "object" && value !== null && "dtype" in value) return value as TracedTensor;
    return this.fail(`${name} is no tensor`);
  }

  /** Tensors in a list. */
  tensors(name: string): readonly TracedTensor[] {
    return this.call.arguments[name] as readonly TracedTensor[];
  }

  /** A tensor or number as a value, in the dtype asked for. */
  in(name: string, dtype?: string): Value {
    const value = this.call.arguments[name];
    if (typeof value === "number" || typeof value === "boolean")
      return this.scalar(Number(value), dtype ?? this.out.dtype);
    return this.cast(this.tensor(name), dtype);
  }

  /** A tensor's value in a dtype: its own by default. */
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

  /** A list of numbers, `length` times the one where one stands for all. */
  numbers(name: string, usual: readonly number[], length = usual.length): readonly number[] {
    const value = this.call.arguments[name] ?? usual;
    const list = (Array.isArray(value) ? value : [value]) as readonly number[];
    if (!list.every((each) => typeof each === "number")) return this.fail(`${name} depends on the batch size`);
    return list.length === 1 && length > 1 ? new Array<number>(length).fill(list[0]) : list;
  }

  /** A dimension, counted from the first. */
  axis(name: string, rank: number, usual?: number): number {
    return (this.number(name, usual) + rank) % rank;
  }

  node(operator: string, inputs: readonly Value[], attributes?: Readonly<Record<string, Attribute>>): Value {
    return this.graph.node(operator, inputs, attributes);
  }

  /** A value in the shape of the first output, or another; one size at most depends on the batch. */
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
