/**
 * ONNX translations of libtorch's operators in the forward pass of a network in evaluation mode. In-place operators are
 * translated like the others. Shapes come from the trace, so every kind of view becomes one reshape.
 */

import type { CallSite } from "./call-site.js";
import type { Value } from "./onnx-graph.js";
import { layerOperators } from "./onnx-layer-operators.js";
import type { Attribute } from "./onnx-messages.js";

/** Translates a call to nodes. Returns one value for each output that is available. */
export type Translation = (site: CallSite) => Value | readonly Value[];

const unary =
  (operator: string, attributes?: Readonly<Record<string, Attribute>>): Translation =>
  (site) =>
    site.node(operator, [site.in("self", site.out.dtype)], attributes);

/** Both operands in the dtype of the result. */
const binary =
  (operator: string): Translation =>
  (site) =>
    site.node(operator, [site.in("self", site.out.dtype), site.in("other", site.out.dtype)]);

/** Both operands in one dtype; the result is boolean. */
const comparison =
  (operator: string): Translation =>
  (site) => {
    const { dtype } = site.tensor("self");
    const other = site.call.arguments.other;
    const isOther = typeof other === "object" && site.tensor("other").dtype !== dtype;
    const common = isOther || (typeof other === "number" && !Number.isInteger(other)) ? "float32" : dtype;
    return site.node(operator, [site.in("self", common), site.in("other", common)]);
  };

const scaled = (site: CallSite, value: Value, factor: number): Value =>
  factor === 1 ? value : site.node("Mul", [value, site.scalar(factor)]);

/** self ± alpha·other */
const sum =
  (operator: "Add" | "Sub"): Translation =>
  (site) => {
    const { dtype } = site.out;
    const other = scaled(site, site.in("other", dtype), site.number("alpha", 1));
    return site.node(operator, [site.in("self", dtype), other]);
  };

const identity =
  (name = "self"): Translation =>
  (site) =>
    site.in(name, site.out.dtype);

const reshape: Translation = (site) => site.reshape(site.in("self"));

/** A reduction over `dim`, or over all dimensions if it is not given. */
const reduction =
  (operator: string): Translation =>
  (site) => {
    const dims = site.has("dim") ? site.numbers("dim", []) : [];
    const keepdims = site.number("keepdim", 0);
    const inputs = [site.in("self", site.out.dtype), ...(dims.length > 0 ? [site.graph.sizes(dims)] : [])];
    return site.node(operator, inputs, { keepdims });
  };

/** The minimum or maximum over all elements or over `dim`. The form that also returns indices has no translation. */
const clip =
  (low: string, high: string): Translation =>
  (site) => {
    const bound = (name: string): Value => (site.has(name) ? site.in(name) : "");
    const inputs = [site.in("self"), bound(low), bound(high)];
    return site.node("Clip", inputs[2] === "" ? inputs.slice(0, 2) : inputs);
  };

const permuted = (site: CallSite, perm: readonly number[], name = "self"): Value =>
  site.node("Transpose", [site.in(name)], { perm });

const swapped = (rank: number, a: number, b: number): number[] =>
  Array.from({ length: rank }, (_, i) => (i === a ? b : i === b ? a : i));

const rankOf = (site: CallSite, name = "self"): number => site.tensor(name).shape.length;

/** A slice along one dimension. */
function piece(site: CallSite, axis: number, start: number, end: number, step = 1): Value {
  const lists = [[start], [end], [axis], [step]].map((list) => site.graph.sizes(list));
  return site.node("Slice", [site.in("self"), ...lists]);
}

const LAST = 2 ** 53;

const pieces: Translation = (site) => {
  const axis = site.axis("dim", rankOf(site), 0);
  let at = 0;
  return site.call.outputs.map(({ shape }) => {
    const size = shape[axis];
    if (typeof size !== "number") return site.fail("it divides the batch");
    at += size;
    return piece(site, axis, at - size, at);
  });
};

/** A tensor filled with one number. */
const filled =
  (value?: number): Translation =>
  (site) => {
    const number = value ?? site.number(site.has("fill_value") ? "fill_value" : "value");
    return site.node("Expand", [site.scalar(number), site.graph.list(site.out.shape)]);
  };

/** The variance with a correction: the mean squared deviation times n/(n − correction). */
const variance: Translation = (site) => {
  const { shape } = site.tensor("self");
  const dims = site.has("dim") ? site.numbers("dim", []) : shape.map((_, i) => i);
  const sizes = dims.map((dim) => shape.at(dim)!);
  const count = sizes.reduce<number>(
    (n, size) => (typeof size === "number" ? n * size : site.fail("over the batch")),
    1,
  );
  const axes = site.graph.sizes(dims);
  const rest = site.node("Sub", [site.in("self"), site.node("ReduceMean", [site.in("self"), axes], { keepdims: 1 })]);
  const mean = site.node("ReduceMean", [site.node("Mul", [rest, rest]), axes], { keepdims: site.number("keepdim", 0) });
  return scaled(site, mean, count / (count - site.number("correction", 1)));
};

const cast: Translation = identity();

const random: Translation = (site) =>
  site.fail("it draws random numbers, so that the model is no function of its input");

export const operators: Readonly<Record<string, Translation>> = {
  ...layerOperators,

  add: sum("Add"),
  sub: sum("Sub"),
  rsub: (site) =>
    site.node("Sub", [site.in("other", site.out.dtype), scaled(site, site.in("self"), site.number("alpha", 1))]),
  mul: binary("Mul"),
  div: (site) => (site.has("rounding_mode") ? site.fail("it rounds") : binary("Div")(site)),
  maximum: binary("Max"),
  minimum: binary("Min"),
  neg: unary("Neg"),
  abs: unary("Abs"),
  sign: unary("Sign"),
  exp: unary("Exp"),
  log: unary("Log"),
  log1p: (site) => site.node("Log", [site.node("Add", [site.in("self"), site.scalar(1)])]),
  sqrt: unary("Sqrt"),
  rsqrt: (site) => site.node("Reciprocal", [site.node("Sqrt", [site.in("self")])]),
  square: (site) => site.node("Mul", [site.in("self"), site.in("self")]),
  reciprocal: unary("Reciprocal"),
  pow: (site) => site.node("Pow", [site.in("self", site.out.dtype), site.in("exponent", site.out.dtype)]),
  floor: unary("Floor"),
  ceil: unary("Ceil"),
  round: unary("Round"),
  erf: unary("Erf"),
  sin: unary("Sin"),
  cos: unary("Cos"),
  tanh: unary("Tanh"),
  sigmoid: unary("Sigmoid"),
  clamp: clip("min", "max"),
  clamp_min: clip("min", ""),
  clamp_max: clip("", "max"),
  hardtanh: (site) =>
    site.node("Clip", [
      site.in("self"),
      site.scalar(site.number("min_val", -1)),
      site.scalar(site.number("max_val", 1)),
    ]),
  addcmul: (site) => {
    const product = site.node("Mul", [site.in("tensor1"), site.in("tensor2")]);
    return site.node("Add", [site.in("self"), scaled(site, product, site.number("value", 1))]);
  },
  lerp: (site) => {
    const way = site.node("Sub", [site.in("end"), site.in("self")]);
    return site.node("Add", [site.in("self"), site.node("Mul", [way, site.in("weight", site.out.dtype)])]);
  },
  where: (site) =>
    site.node("Where", [site.in("condition"), site.in("self", site.out.dtype), site.in("other", site.out.dtype)]),
  eq: comparison("Equal"),
  ne: (site) => site.node("Not", [comparison("Equal")(site) as Value]),
  lt: comparison("Less"),
  le: comparison("LessOrEqual"),
  gt: comparison("Greater"),
  ge: comparison("GreaterOrEqual"),
  logical_and: (site) => site.node("And", [site.in("self", "bool"), site.in("other", "bool")]),
  logical_or: (site) => site.node("Or", [site.in("self", "bool"), site.in("other", "bool")]),
  logical_not: (site) => site.node("Not", [site.in("self", "bool")]),

  sum: reduction("ReduceSum"),
  mean: reduction("ReduceMean"),
  amax: reduction("ReduceMax"),
  amin: reduction("ReduceMin"),
  logsumexp: reduction("ReduceLogSumExp"),
  max: (site) =>
    site.has("dim") || site.has("other") ? site.fail("take amax or maximum") : reduction("ReduceMax")(site),
  min: (site) =>
    site.has("dim") || site.has("other") ? site.fail("take amin or minimum") : reduction("ReduceMin")(site),
  var: variance,
  argmax: (site) => {
    const axis = site.has("dim") ? site.axis("dim", rankOf(site)) : site.fail("over everything");
    return site.node("ArgMax", [site.in("self")], { axis, keepdims: site.number("keepdim", 0) });
  },
  // Only the values: nothing reads the indices.
  topk: (site) => {
    const axis = site.axis("dim", rankOf(site), -1);
    const attributes = { axis, largest: site.number("largest", 1), sorted: site.number("sorted", 1) };
    return site.graph.node("TopK", [site.in("self"), site.graph.sizes([site.number("k")])], attributes, 1);
  },
  linalg_vector_norm: (site) => {
    const operator = { 1: "ReduceL1", 2: "ReduceL2" }[site.number("ord", 2)];
    return operator ? reduction(operator)(site) : site.fail(`of order ${site.number("ord")}`);
  },
  cumsum: (site) => site.node("CumSum", [site.in("self", site.out.dtype), site.scalar(site.number("dim"), "int64")]),

  view: reshape,
  _unsafe_view: reshape,
  reshape,
  flatten: reshape,
  unflatten: reshape,
  unsqueeze: reshape,
  squeeze: reshape,
  permute: (site) =>
    permuted(
      site,
      site.numbers("dims", []).map((dim) => (dim + rankOf(site)) % rankOf(site)),
    ),
  transpose: (site) =>
    permuted(site, swapped(rankOf(site), site.axis("dim0", rankOf(site)), site.axis("dim1", rankOf(site)))),
  t: (site) => (rankOf(site) < 2 ? site.in("self") : permuted(site, [1, 0])),
  expand: (site) => site.node("Expand", [site.in("self"), site.graph.list(site.out.shape)]),
  expand_as: (site) => site.node("Expand", [site.in("self"), site.graph.list(site.out.shape)]),
  repeat: (site) => {
    const repeats = site.call.arguments.repeats as readonly number[];
    const { shape } = site.tensor("self");
    const full = site.reshape(site.in("self"), [...new Array<number>(repeats.length - shape.length).fill(1), ...shape]);
    return site.node("Tile", [full, site.graph.list(repeats)]);
  },
  flip: (site) =>
    site.numbers("dims", []).reduce((value, dim) => {
      const lists = [[-1], [-LAST], [dim], [-1]].map((list) => site.graph.sizes(list));
      return site.node("Slice", [value, ...lists]);
    }, site.in("self")),
  select: (site) =>
    site.node("Gather", [site.in("self"), site.scalar(site.number("index"), "int64")], {
      axis: site.axis("dim", rankOf(site)),
    }),
  slice: (site) => {
    const [axis, step] = [site.axis("dim", rankOf(site), 0), site.number("step", 1)];
    return piece(site, axis, site.number("start", 0), Math.min(LAST, site.number("end", LAST)), step);
  },
  narrow: (site) => {
    const start = site.number("start");
    return piece(site, site.axis("dim", rankOf(site)), start, start + site.number("length"));
  },
  split: pieces,
  split_with_sizes: pieces,
  chunk: pieces,
  unbind: (site) => {
    const axis = site.axis("dim", rankOf(site), 0);
    if (typeof site.tensor("self").shape[axis] !== "number") return site.fail("it divides the batch");
    return site.call.outputs.map((_, i) => site.node("Gather", [site.in("self"), site.scalar(i, "int64")], { axis }));
  },
  index_select: (site) =>
    site.node("Gather", [site.in("self"), site.in("index")], { axis: site.axis("dim", rankOf(site)) }),
  gather: (site) =>
    site.node("GatherElements", [site.in("self"), site.in("index")], { axis: site.axis("dim", rankOf(site)) }),
  cat: (site) => {
    const axis = site.axis("dim", site.out.shape.length, 0);
    return site.node(
      "Concat",
      site.tensors("tensors").map((each) => site.cast(each, site.out.dtype)),
      { axis },
    );
  },
  stack: (site) => {
    const axis = site.axis("dim", site.out.shape.length, 0);
    const one = (value: Value): Value => site.node("Unsqueeze", [value, site.graph.sizes([axis])]);
    return site.node(
      "Concat",
      site.tensors("tensors").map((each) => one(site.cast(each, site.out.dtype))),
      { axis },
    );
  },
  constant_pad_nd: (site) => {
    const [pad, rank] = [site.numbers("pad", []), rankOf(site)];
    const pads = new Array<number>(2 * rank).fill(0);
    for (let i = 0; i < pad.length; i++) pads[rank - 1 - (i >> 1) + (i % 2 ? rank : 0)] = pad[i];
    return site.node("Pad", [site.in("self"), site.graph.sizes(pads), site.scalar(site.number("value", 0))]);
  },

  contiguous: identity(),
  clone: identity(),
  detach: identity(),
  alias: identity(),
  to: cast,
  _to_copy: cast,
  type_as: cast,
  copy: (site) => site.node("Expand", [site.in("src", site.out.dtype), site.graph.list(site.out.shape)]),
  fill: filled(),
  zero: filled(0),
  zeros_like: filled(0),
  ones_like: filled(1),
  full_like: filled(),
  empty_like: filled(0),
  uniform: random,
  normal: random,
  bernoulli: random,
};
