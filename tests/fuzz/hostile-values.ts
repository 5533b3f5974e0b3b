/** Values an operator might be given: right in type and odd in content, or wrong altogether. */

import type { Philox } from "../../src/engine/philox.js";
import { RandomGenerator } from "../../src/engine/random.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";

const SHAPES: readonly (readonly number[])[] = [
  [],
  [0],
  [1],
  [3],
  [7],
  [0, 3],
  [3, 0],
  [1, 1],
  [2, 3],
  [3, 2],
  [4, 4],
  [2, 0, 3],
  [2, 3, 4],
  [1, 3, 4, 4],
  [2, 4, 5, 5],
  [2, 1, 0, 4],
  [2, 3, 2, 2, 2],
  Array(9).fill(1),
  Array(65).fill(1),
];

const DTYPES = [
  "float32",
  "float64",
  "int64",
  "int32",
  "int16",
  "int8",
  "uint8",
  "bool",
  "bfloat16",
  "float16",
  "complex64",
] as const;

const INTEGERS: readonly (number | bigint)[] = [
  0,
  1,
  -1,
  2,
  3,
  -2,
  5,
  64,
  -64,
  1000,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  2 ** 40,
  Number.MAX_SAFE_INTEGER,
  -Number.MAX_SAFE_INTEGER,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 62n,
];

const NUMBERS: readonly number[] = [
  0,
  1,
  -1,
  0.5,
  -0,
  2.5,
  1e-300,
  5e-324,
  1e38,
  1e308,
  -1e308,
  NaN,
  Infinity,
  -Infinity,
];

const WORDS = [
  "",
  "mean",
  "L",
  "U",
  "linear",
  "lower",
  "gesvd",
  "gesvdj",
  "nonsense",
  "\u0000",
  "🦉",
  "x".repeat(10_000),
];

/** Elementwise operators: given a view of 2^40 elements they refuse for lack of memory, where others would take days. */
const ELEMENTWISE =
  /::(add|sub|mul|div|neg|abs|exp|sqrt|sigmoid|relu|clone|eq|lt|square|tanh|cat|stack|mm|where)(\.|$)/;

/** A tensor that has been freed. */
function freed(): Tensor {
  const made = tensor([1, 2]);
  made.dispose();
  return made;
}

/** An array with a getter for its first element. */
function withGetter(get: () => unknown): unknown[] {
  return Object.defineProperty([1, 2], 0, { get });
}

const cyclic: unknown[] = [];
cyclic.push(cyclic);
const sparse: unknown[] = [];
sparse[70] = 1;

/** What no operator takes, or not there; a function of one argument makes its value anew. */
const WRONG: readonly unknown[] = [
  undefined,
  null,
  (_: Hostile) => freed(),
  (_: Hostile) => [freed()],
  "3",
  "",
  Symbol("s"),
  3n,
  2n ** 70n,
  -(2n ** 63n),
  {},
  { handle: 1 },
  { handle: 2 ** 31 },
  { handle: "1" },
  { self: 1 },
  [],
  [[[[]]]],
  [[1, 2], [3]],
  [null],
  [undefined, 1],
  [1.5, -1],
  [Symbol("s")],
  [3n],
  cyclic,
  sparse,
  withGetter(() => {
    throw new TypeError("a getter that throws");
  }),
  withGetter(() => tensor([1]).add(1).tanh().numel),
  new Array(1_000_001).fill(1),
  new Array(70).fill(1),
  new Float32Array(3),
  new Proxy([], {}),
  new Proxy({}, { get: () => 1 }),
  () => 1,
  new Date(),
  NaN,
  -0,
  1.5,
  true,
  false,
  (h: Hostile) => h.tensor(),
  (h: Hostile) => [h.tensor()],
  (h: Hostile) => [h.tensor(), h.tensor()],
  (h: Hostile) => h.generator(),
  (h: Hostile) => h.pick(NUMBERS),
  (h: Hostile) => h.pick(INTEGERS),
  (h: Hostile) => [h.pick(INTEGERS), h.pick(INTEGERS)],
];

/** Draws the values, all from one keyed source: a case can be made again from its number. */
export class Hostile {
  constructor(
    readonly random: Philox,
    readonly operator: string,
  ) {}

  pick<T>(values: readonly T[]): T {
    return values[this.random.integer(values.length)];
  }

  /** A tensor of any dtype, of an odd shape, laid out oddly, holding odd numbers. */
  tensor(): Tensor {
    const shape = this.pick(SHAPES);
    const length = shape.reduce((product, size) => product * size, 1);
    const odd = this.random.bernoulli(0.2);
    const values = Float64Array.from({ length }, () => (odd ? this.pick(NUMBERS) : this.random.integer(9) - 2));
    let made = tensor(values, { shape }).toDType(this.pick(DTYPES));
    if (made.dtype.includes("float") && this.random.bernoulli(0.3)) made.requiresGrad_();
    switch (this.random.integer(12)) {
      case 0:
        if (shape.length >= 2) made = made.transpose(0, -1);
        break;
      case 1:
        if (shape.length >= 1) made = made.slice(0, 0, null, 2);
        break;
      case 2:
        made = made.unsqueeze(0).expand([this.pick([1, 3, 1000]), ...shape]);
        break;
      case 3:
        if (length === 1 && shape.length < 5 && ELEMENTWISE.test(this.operator))
          made = made.expand([2 ** 40, ...shape]);
        break;
      case 4:
        if (shape.length === 4) made = made.to({ memoryFormat: "channels_last" });
        break;
      case 5:
        made = made.toDevice("meta", made.dtype);
        break;
    }
    return made;
  }

  /** A value of the schema's type. */
  ofType(type: string, length: number): unknown {
    if (type.endsWith("?")) return this.random.bernoulli(0.3) ? null : this.ofType(type.slice(0, -1), length);
    const element = /^(.*?)\[\d*\]$/.exec(type)?.[1] ?? /^List\[(.*)\]$/.exec(type)?.[1];
    if (element !== undefined) {
      if (length > 0 && this.random.bernoulli(0.3)) return this.ofType(element, 0);
      return Array.from({ length: length > 0 ? length : this.random.integer(5) }, () => this.ofType(element, 0));
    }
    switch (type) {
      case "Tensor":
        return this.random.bernoulli(0.9) ? this.tensor() : this.pick(NUMBERS);
      case "int":
      case "SymInt":
        // Mostly small ones, which are the plausible ones: dimensions, sizes, counts.
        return this.random.bernoulli(0.7) ? this.random.integer(7) - 2 : this.pick(INTEGERS);
      case "bool":
        return this.random.bernoulli(0.5);
      case "str":
        return this.pick(WORDS);
      case "ScalarType":
        return this.pick([...DTYPES, "complex128", "float8_e5m2", "uint64", "nonsense"]);
      case "Device":
        return this.pick(["cpu", "meta", "cuda", "cuda:99", "xla", "mkldnn", "", "cpu:3"]);
      case "Layout":
        return this.pick(["strided", "sparse", ""]);
      case "MemoryFormat":
        return this.pick(["contiguous", "channels_last", "preserve", "channels_last_3d"]);
      case "Generator":
        return this.generator();
      default:
        return this.pick([...NUMBERS, ...INTEGERS]);
    }
  }

  /** A good value bent a little: it passes more checks than one from nowhere. */
  bend(value: unknown): unknown {
    if (isTensor(value)) return value.isDisposed ? value : this.bendTensor(value);
    if (typeof value === "number")
      return this.pick([value + 1, value - 1, -value, 0, this.pick(INTEGERS), this.pick(NUMBERS)]);
    if (typeof value === "boolean") return !value;
    if (!Array.isArray(value)) return this.pick(INTEGERS);
    if (value.length === 0 || this.random.bernoulli(0.2)) return [...value, value[0] ?? 1];
    if (this.random.bernoulli(0.2)) return value.slice(1);
    return value.with(this.random.integer(value.length), this.bend(this.pick(value)));
  }

  private bendTensor(x: Tensor): Tensor {
    const dim = x.shape.length === 0 ? 0 : this.random.integer(x.shape.length);
    switch (this.random.integer(11)) {
      case 0:
        return x.detach().toDType(this.pick(DTYPES));
      case 1:
        return x.shape.length === 0 ? x : x.slice(dim, 0, 0);
      case 2:
        return x.shape.length === 0 ? x : x.slice(dim, 1);
      case 3:
        return x.shape.length === 0 ? x.unsqueeze(0) : x.select(dim, 0);
      case 4:
        return x.unsqueeze(dim);
      case 5:
        return x.shape.length < 2 ? x : x.transpose(dim, 0);
      case 6:
        return x.shape.length === 4 ? x.to({ memoryFormat: "channels_last" }) : x.flatten(0, -1);
      case 7:
        return x.detach().toDevice("meta", x.dtype);
      case 8:
        return x.detach().mul(this.pick([NaN, Infinity, -1, 1e30]));
      case 9:
        return x.slice(dim, 0, 1).expand(x.shape.map((size, i) => (i === dim ? 70 : size)));
      default:
        return x.dtype.includes("float") ? x.detach().clone().requiresGrad_() : x;
    }
  }

  generator(): RandomGenerator {
    const made = new RandomGenerator("cpu", 7);
    if (this.random.bernoulli(0.3)) made.dispose();
    return made;
  }

  /** A value of no type an operator takes, or of the wrong one. */
  wrong(): unknown {
    const value = this.pick(WRONG);
    return typeof value === "function" && value.length === 1 ? value(this) : value;
  }
}

const isTensor = (value: unknown): value is Tensor =>
  typeof value === "object" && value !== null && "describe" in value && typeof value.describe === "function";

/** A value as text, enough of it to make the call again by hand. */
export function show(value: unknown, depth = 0): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? "a function" : String(value);
  if (value instanceof RandomGenerator) return "Generator";
  if (isTensor(value)) {
    if (value.isDisposed) return "freed";
    const values = value.numel <= 12 ? valuesOf(value) : "";
    return `${value.describe()}${value.requiresGrad ? "*" : ""}strides[${value.strides}]${values}`;
  }
  if (!Array.isArray(value)) return `a ${value.constructor?.name ?? "object"}`;
  if (depth > 2 || value.length > 12) return `array(${value.length})`;
  const getters = Object.values(Object.getOwnPropertyDescriptors(value)).some((property) => property.get);
  return getters ? "an array with a getter" : `[${value.map((item) => show(item, depth + 1)).join(", ")}]`;
}

function valuesOf(x: Tensor): string {
  if (x.device === "meta" || x.dtype.startsWith("complex")) return "";
  return `{${x.toNumbers().join(",")}}`;
}
