/** A tensor as text a person can read: dtype and shape, then the numbers, the middle of long rows left out. */

import { scope } from "./scope.js";
import { type Tensor, tensor as tensorOf } from "./tensor.js";

const EDGE = 3;
const WHOLE = 1000; // up to this many elements all are shown

/** `Tensor float32[2, 3]` and its elements. */
export function formatTensor(tensor: Tensor): string {
  const { shape } = tensor;
  const title = `Tensor ${tensor.describe()}${tensor.requiresGrad ? " requires grad" : ""}`;
  if (tensor.numel === 0 || tensor.device === "meta") return title;
  const whole = tensor.numel <= WHOLE;
  // Only what is shown is read back: a tensor of a gigabyte prints as fast as a small one.
  const positions = shape.map((size) =>
    whole || size <= 2 * EDGE ? range(0, size) : [...range(0, EDGE), ...range(size - EDGE, size)],
  );
  const values = scope(() => {
    let part = tensor.detach();
    positions.forEach((chosen, dim) => {
      if (chosen.length === shape[dim]) return;
      part = part.indexSelect(dim, tensorOf(chosen, { dtype: "int64", device: tensor.device }));
    });
    return part.toNumbers();
  });
  const integral = !tensor.dtype.startsWith("float") && !tensor.dtype.startsWith("bfloat");
  const texts = values.map(tensor.dtype === "bool" ? (value) => String(value !== 0) : numberFormat(values, integral));
  const width = Math.max(...texts.map((text) => text.length));
  const sizes = positions.map((chosen) => chosen.length);
  const lay = (from: number, dim: number): string => {
    if (dim === sizes.length) return texts[from].padStart(width);
    const step = sizes.slice(dim + 1).reduce((product, size) => product * size, 1);
    const items = Array.from({ length: sizes[dim] }, (_, i) => lay(from + i * step, dim + 1));
    if (sizes[dim] < shape[dim]) items.splice(EDGE, 0, "…");
    const last = dim === sizes.length - 1;
    return `[${items.join(last ? ", " : `,\n${" ".repeat(dim + 1)}`)}]`;
  };
  return `${title}\n${lay(0, 0)}`;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** One way of writing for all the numbers: integers plain, floats with four decimals or, where that loses them, exponents. */
function numberFormat(values: readonly number[], integral: boolean): (value: number) => string {
  if (integral) return String;
  const finite = values
    .filter(Number.isFinite)
    .map(Math.abs)
    .filter((value) => value > 0);
  const exponent = finite.length > 0 && (Math.max(...finite) >= 1e5 || Math.min(...finite) < 1e-3);
  return (value) => (!Number.isFinite(value) ? String(value) : exponent ? value.toExponential(4) : value.toFixed(4));
}
