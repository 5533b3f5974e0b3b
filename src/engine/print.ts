/** Formats a tensor as readable text: dtype and shape, then the numbers, with the middle of long rows omitted. */

import { scope } from "./scope.js";
import { type Tensor, tensor as tensorOf } from "./tensor.js";

/**
 * Tensors with up to this many elements are shown completely. For larger ones, the first and last `EDGES[0]` elements
 * along each dimension are shown.
 */
const WHOLE = 1000;
/** With many dimensions fewer elements are shown at the edges, or none. */
const EDGES = [3, 2, 1];
const LINE = 100; // longer rows are wrapped

/** Returns `Tensor float32[2, 3]` and the elements. */
export function formatTensor(tensor: Tensor): string {
  const title = `Tensor ${tensor.describe()}${tensor.requiresGrad ? " requires grad" : ""}`;
  if (tensor.numel === 0 || tensor.device === "meta" || tensor.dtype.startsWith("complex")) return title;
  const { shape } = tensor;
  const positions = shownPositions(shape);
  if (!positions) return title;
  const texts = elementTexts(tensor, positions);
  const width = texts.reduce((widest, text) => Math.max(widest, text.length), 0);
  const sizes = positions.map((chosen) => chosen.length);
  const lay = (from: number, dim: number): string => {
    if (dim === sizes.length) return texts[from].padStart(width);
    const step = sizes.slice(dim + 1).reduce((product, size) => product * size, 1);
    const items = Array.from({ length: sizes[dim] }, (_, i) => lay(from + i * step, dim + 1));
    if (sizes[dim] < shape[dim]) items.splice(sizes[dim] / 2, 0, "…");
    const indent = " ".repeat(dim + 1);
    return `[${dim === sizes.length - 1 ? wrapped(items, indent) : items.join(`,\n${indent}`)}]`;
  };
  return `${title}\n${lay(0, 0)}`;
}

/** Returns the positions to show for each dimension, or undefined if there would be too many. */
function shownPositions(shape: readonly number[]): number[][] | undefined {
  if (count(shape) <= WHOLE) return shape.map((size) => range(0, size));
  const edge = EDGES.find((n) => count(shape.map((size) => Math.min(size, 2 * n))) <= WHOLE);
  if (edge === undefined) return undefined;
  return shape.map((size) => (size <= 2 * edge ? range(0, size) : [...range(0, edge), ...range(size - edge, size)]));
}

/** Formats the selected elements. Only these are read, so that a tensor of a gigabyte prints as fast as a small one. */
function elementTexts(tensor: Tensor, positions: readonly number[][]): string[] {
  const values = scope(() => {
    let part = tensor.detach();
    positions.forEach((chosen, dim) => {
      if (chosen.length === tensor.shape[dim]) return;
      part = part.indexSelect(dim, tensorOf(chosen, { dtype: "int64", device: tensor.device }));
    });
    return Array.from(part.data() as ArrayLike<number | bigint>);
  });
  if (tensor.dtype === "bool") return values.map((value) => String(value !== 0));
  if (!tensor.dtype.includes("float")) return values.map(String);
  return values.map(Number).map(numberFormat(values.map(Number)));
}

/** Returns one format for all numbers: four decimals, or exponents if that would lose digits. */
function numberFormat(values: readonly number[]): (value: number) => string {
  const sizes = values.filter(Number.isFinite).map(Math.abs);
  const exponent = sizes.some((size) => size >= 1e5 || (size > 0 && size < 1e-3));
  return (value) => (!Number.isFinite(value) ? String(value) : exponent ? value.toExponential(4) : value.toFixed(4));
}

/** Joins the items of a row, with line breaks where a line is full. */
function wrapped(items: readonly string[], indent: string): string {
  let text = "";
  let column = indent.length;
  items.forEach((item, i) => {
    const part = i < items.length - 1 ? `${item}, ` : item;
    if (column + part.length > LINE && text !== "") {
      text = `${text.trimEnd()}\n${indent}`;
      column = indent.length;
    }
    text += part;
    column += part.length;
  });
  return text;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const count = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);
