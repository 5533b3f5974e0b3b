/**
 * Weights and inputs by an exact integer formula, the same in tests/vectors/formula.py, so that stored numbers need no
 * stored weights.
 */

import type { DType } from "../../src/engine/dtype.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import type { Module } from "../../src/nn/module.js";

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 of a text, as Python's zlib.crc32; Node 20 has none in every release. */
export function crc32(text: string): number {
  let sum = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) sum = (sum >>> 8) ^ TABLE[(sum ^ byte) & 0xff];
  return ~sum >>> 0;
}

/** around ± scale, spread evenly; which number stands where depends on the name. */
export function formulaValues(name: string, count: number, scale = 1, around = 0): Float64Array {
  const start = crc32(name);
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = (((i * 7919 + start) % 10007) / 10007 - 0.5) * 2 * scale + around;
  return values;
}

/** The same as a tensor. */
export function formulaTensor(
  name: string,
  shape: readonly number[],
  { scale = 1, around = 0, dtype = "float32" as DType } = {},
): Tensor {
  return scope(() => tensor(formulaValues(name, product(shape), scale, around), { shape }).toDType(dtype));
}

/** A parameter or buffer of a network, by the end of its name: norms near 1 and 0, weights as large as keeps maps in range. */
export function formulaState(name: string, shape: readonly number[]): Tensor {
  const dtype = "float64";
  if (name.endsWith("num_batches_tracked")) return tensor(0, { dtype: "int64" });
  if (name.endsWith("running_var")) return formulaTensor(name, shape, { scale: 0.3, around: 1, dtype });
  if (name.endsWith("running_mean") || name.endsWith("bias")) return formulaTensor(name, shape, { scale: 0.1, dtype });
  if (name.endsWith("layer_scale")) return formulaTensor(name, shape, { scale: 0.25, around: 0.75, dtype });
  // Small, so that a block adds little: at 1, training mode amplifies so much that PyTorch's own float32 is 5 % off.
  if (name.endsWith("bn3.weight") || name.endsWith("f.c.1.weight"))
    return formulaTensor(name, shape, { scale: 0.03, around: 0.1, dtype });
  // Large, because SiLU and the gates of squeeze-and-excitation take most of a map: at 1, no picture is left at the end.
  if (/block\.\d\.1\.weight$/.test(name)) return formulaTensor(name, shape, { scale: 0.2, around: 1.8, dtype });
  if (shape.length < 2) return formulaTensor(name, shape, { scale: 0.2, around: 1, dtype });
  return formulaTensor(name, shape, { scale: Math.sqrt(3 / product(shape.slice(1))), dtype });
}

/** Sets all of a module's state; float32 or float64 as the module is. */
export function fillByFormula<M extends Module>(module: M, prefix = ""): M {
  noGrad(() => {
    for (const [name, target] of module.stateDict()) {
      scope(() => target.copy_(formulaState(prefix + name, target.shape)));
    }
  });
  return module;
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);
