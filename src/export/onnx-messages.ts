/**
 * The messages of ONNX (onnx.proto, https://github.com/onnx/onnx) with the fields that a network needs, by their
 * published numbers.
 */

import { Message } from "./protobuf.js";

/** The operator set and the version of the file format, which ONNX 1.16 (2024) supports. */
export const OPSET = 21;
const IR_VERSION = 10;

/** Element types by ONNX's numbers. */
export const ELEMENT = { float32: 1, uint8: 2, int64: 7, bool: 9, float64: 11 } as const;
export type Element = keyof typeof ELEMENT;

/** An attribute of a node: an integer, a list of integers, a float or a string. */
export type Attribute = number | readonly number[] | { readonly float: number } | { readonly text: string };

const attributeTypes = { float: 1, whole: 2, text: 3, wholes: 7 } as const;

function attribute(name: string, value: Attribute): Message {
  const message = new Message().text(1, name);
  if (typeof value === "number") return message.whole(3, value).whole(20, attributeTypes.whole);
  if (Array.isArray(value)) return message.wholes(8, value).whole(20, attributeTypes.wholes);
  if ("float" in value) return message.float(2, value.float).whole(20, attributeTypes.float);
  return message.text(4, (value as { text: string }).text).whole(20, attributeTypes.text);
}

export interface Node {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** The number of further outputs, which nothing reads. */
  readonly unread?: number;
  readonly attributes: Readonly<Record<string, Attribute>>;
}

function nodeMessage({ operator, inputs, output, unread = 0, attributes }: Node): Message {
  const message = new Message();
  for (const input of inputs) message.text(1, input);
  message.text(2, output);
  for (let i = 0; i < unread; i++) message.text(2, `${output}_${i}`);
  message.text(3, output).text(4, operator);
  for (const [name, value] of Object.entries(attributes)) message.message(5, attribute(name, value));
  return message;
}

/** A tensor that is stored in the file. */
export interface Constant {
  readonly name: string;
  readonly element: Element;
  readonly shape: readonly number[];
  /** Little-endian, in row-major order. */
  readonly bytes: Uint8Array;
}

const tensorMessage = ({ name, element, shape, bytes }: Constant): Message =>
  new Message().wholes(1, shape).whole(2, ELEMENT[element]).text(8, name).bytes(9, bytes);

/** An input or output. A size that is a string is free, and is equal wherever the same string is used. */
export interface Port {
  readonly name: string;
  readonly element: Element;
  readonly shape: readonly (number | string)[];
}

function portMessage({ name, element, shape }: Port): Message {
  const sizes = new Message();
  for (const size of shape)
    sizes.message(1, typeof size === "number" ? new Message().whole(1, size) : new Message().text(2, size));
  const tensorType = new Message().whole(1, ELEMENT[element]).message(2, sizes);
  return new Message().text(1, name).message(2, new Message().message(1, tensorType));
}

export interface OnnxFile {
  readonly name: string;
  readonly about: string;
  readonly version: string;
  readonly nodes: readonly Node[];
  readonly constants: readonly Constant[];
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** Returns the bytes of the file. */
export function onnxParts(file: OnnxFile): readonly Uint8Array[] {
  const graph = new Message();
  for (const node of file.nodes) graph.message(1, nodeMessage(node));
  graph.text(2, file.name);
  for (const constant of file.constants) graph.message(5, tensorMessage(constant));
  for (const port of file.inputs) graph.message(11, portMessage(port));
  for (const port of file.outputs) graph.message(12, portMessage(port));
  const model = new Message()
    .whole(1, IR_VERSION)
    .text(2, "nudge")
    .text(3, file.version)
    .text(6, file.about)
    .message(7, graph)
    .message(8, new Message().text(1, "").whole(2, OPSET));
  for (const [key, value] of Object.entries(file.metadata))
    model.message(14, new Message().text(1, key).text(2, value));
  return model.parts();
}
