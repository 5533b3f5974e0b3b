/** An ONNX graph in the making: nodes are added in the order they run, and weights as they are come by. */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import type { Attribute, Constant, Node } from "./onnx-messages.js";

/** The name of a value that flows along the graph. */
export type Value = string;

export class OnnxGraph {
  readonly nodes: Node[] = [];
  readonly constants: Constant[] = [];
  private readonly names: ReadonlyMap<Tensor, string>;
  private serial = 0;

  /** `state` has the names under which weights are known, so that the graph can be read beside the model file. */
  constructor(state: ReadonlyMap<string, Tensor>) {
    this.names = new Map([...state].map(([name, tensor]) => [tensor, name]));
  }

  /** Adds a node with one output, and returns the output. */
  node(operator: string, inputs: readonly Value[], attributes: Readonly<Record<string, Attribute>> = {}): Value {
    const output = `${operator}_${this.serial++}`;
    this.nodes.push({ operator, inputs, output, attributes });
    return output;
  }

  /** Gives a value another name: an output's. */
  rename(value: Value, name: string): void {
    this.nodes.push({ operator: "Identity", inputs: [value], output: name, attributes: {} });
  }

  /** Weights as they are now, or as `make` changes them; named as `like` is. */
  weights(like: Tensor, make: () => Tensor = () => like): Value {
    const bytes = noGrad(() => scope(() => make().to({ dtype: "float32", device: "cpu" }).contiguous()));
    const value = this.add(this.names.get(like) ?? "constant", "float32", bytes.shape, bytes.bytes());
    bytes.dispose();
    return value;
  }

  /** Numbers of our own: float32. */
  numbers(values: readonly number[], shape: readonly number[] = [values.length]): Value {
    return this.add("constant", "float32", shape, new Uint8Array(Float32Array.from(values).buffer));
  }

  /** Sizes and axes: int64, a list. */
  sizes(values: readonly number[]): Value {
    return this.add("sizes", "int64", [values.length], new Uint8Array(BigInt64Array.from(values, BigInt).buffer));
  }

  private add(name: string, element: Constant["element"], shape: readonly number[], bytes: Uint8Array): Value {
    const taken = this.constants.some((each) => each.name === name);
    const own = taken ? `${name}_${this.serial++}` : name;
    this.constants.push({ name: own, element, shape, bytes });
    return own;
  }
}
