import { expect, test } from "vitest";
import { EngineError } from "../errors.js";
import { call, callPrivate, schemas } from "./operator.js";
import { RandomGenerator } from "./random.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** Returns the result of the call as numbers. */
const numbers = (name: string, ...args: unknown[]): number[] => (call(name, ...args) as Tensor).toNumbers();

test("arguments go by position, by name, or both", () => {
  scope(() => {
    const x = tensor([0.25, 0.5]);
    const expected = x.toNumbers().map((p) => Math.fround(Math.log(p / (1 - p))));
    expect(numbers("aten::logit", x)).toEqual(expected);
    expect(numbers("aten::logit", { self: x })).toEqual(expected);
    expect(numbers("aten::logit", x, { eps: 0.5 })).toEqual([0, 0]);
    expect(numbers("aten::logit", x, 0.5)).toEqual([0, 0]);
    expect(numbers("logit", x)).toEqual(expected); // the prefix aten is implied
  });
});

test("an omitted or undefined argument has the schema's default", () => {
  scope(() => {
    const x = tensor([[1, 2]]);
    expect(numbers("aten::sub.Tensor", x, x, { alpha: 2 })).toEqual([-1, -2]);
    expect(numbers("aten::sub.Tensor", x, x, { alpha: undefined })).toEqual([0, 0]);
    expect((call("aten::sum.dim_IntList", x, [1]) as Tensor).shape).toEqual([1]);
    expect((call("aten::sum.dim_IntList", x, [1], undefined, { dtype: "float64" }) as Tensor).dtype).toBe("float64");
  });
});

test("without an overload in the name, the one that takes the arguments is used", () => {
  scope(() => {
    const x = tensor([1, 2]);
    expect(numbers("aten::pow", x, 2)).toEqual([1, 4]);
    expect(numbers("aten::pow", x, tensor([3, 3]))).toEqual([1, 8]);
    expect(numbers("aten::sum", x)).toEqual([3]);
    expect(numbers("aten::sum", x, [0], { keepdim: true })).toEqual([3]);
    expect((call("aten::split", tensor([1, 2, 3]), [1, 2]) as Tensor[]).map((part) => part.numel)).toEqual([1, 2]);
    expect((call("aten::max", x, 0) as Tensor[]).map((part) => part.item())).toEqual([2, 1]);
  });
});

test("numbers, truth values and bigints stand for tensors in arithmetic", () => {
  scope(() => {
    const x = tensor([1, 2], { dtype: "int64" });
    expect(numbers("aten::add.Tensor", x, 1)).toEqual([2, 3]);
    expect(numbers("aten::add.Tensor", x, 1n)).toEqual([2, 3]);
    expect(numbers("aten::mul.Tensor", x, true)).toEqual([1, 2]);
    expect((call("aten::add.Tensor", x, 1) as Tensor).dtype).toBe("int64");
  });
});

test("lists, optionals, lists of optionals, dtypes, devices, memory formats, strings and generators all pass", () => {
  scope(() => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    expect(numbers("aten::cat", [x, x], 1)).toEqual([1, 2, 1, 2, 3, 4, 3, 4]);
    expect(numbers("aten::clamp", x, null, 3)).toEqual([1, 2, 3, 3]);
    expect(numbers("aten::index.Tensor", x, [null, tensor([1], { dtype: "int64" })])).toEqual([2, 4]);
    expect((call("aten::to.dtype", x, "int8") as Tensor).dtype).toBe("int8");
    expect((call("aten::empty.memory_format", [2, 2, 2, 2], { device: "meta" }) as Tensor).device).toBe("meta");
    const last = call("aten::empty.memory_format", [2, 3, 2, 2], { memory_format: "channels_last" }) as Tensor;
    expect(last.isChannelsLast).toBe(true);
    expect(numbers("aten::einsum", "ij,ij->i", [x, x])).toEqual([5, 25]);
    expect(numbers("aten::quantile.scalar", x, 0.4, { interpolation: "lower" })).toEqual([2]);
    const draw = () => {
      using generator = new RandomGenerator("cpu", 3);
      return numbers("aten::rand.generator", [3], { generator });
    };
    expect(draw()).toEqual(draw());
    expect(call("aten::equal", x, x)).toBe(true);
    expect(call("aten::size.int", x, 1)).toBe(2);
  });
});

test("one number stands for a list of known length", () => {
  scope(() => {
    const x = tensor(new Float32Array(16).fill(1), { shape: [1, 1, 4, 4] });
    expect((call("aten::avg_pool2d", x, 2) as Tensor).shape).toEqual([1, 1, 2, 2]);
    expect((call("aten::avg_pool2d", x, [2, 4]) as Tensor).shape).toEqual([1, 1, 2, 1]);
  });
});

test("several results come as an array, in the schema's order", () => {
  scope(() => {
    const [values, indices] = call("aten::sort", tensor([3, 1, 2])) as Tensor[];
    expect([values.toNumbers(), indices.toNumbers()]).toEqual([
      [1, 2, 3],
      [1, 2, 0],
    ]);
  });
});

test("an operator in place returns the tensor it was given, with its new shape", () => {
  scope(() => {
    const x = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(call("aten::add_.Tensor", x, 1)).toBe(x);
    expect(x.shape).toEqual([2, 3]);
    expect(call("aten::t_", { self: x })).toBe(x);
    expect(x.shape).toEqual([3, 2]);
    const target = tensor([0]);
    expect(target.shape).toEqual([1]);
    expect(call("aten::exp.out", tensor([0, 0]), { out: target })).toBe(target);
    expect([target.shape, target.toNumbers()]).toEqual([[2], [1, 1]]);
    const parts = [tensor([1]), tensor([2])];
    expect(callPrivate("aten::_foreach_neg_", parts)).toBeUndefined();
    expect(parts.map((part) => part.item())).toEqual([-1, -2]);
  });
});

test("schemas lists what an operator takes and returns", () => {
  const [schema] = schemas("aten::add_.Tensor");
  expect(schema.text).toBe("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  expect(schema.arguments.map(({ name, keywordOnly, hasDefault }) => [name, keywordOnly, hasDefault])).toEqual([
    ["self", false, false],
    ["other", false, false],
    ["alpha", true, true],
  ]);
  expect(schema.returns).toEqual([{ type: "Tensor", argument: 0 }]);
  expect(schemas("aten::add").length).toBeGreaterThan(1);
});

const x = () => tensor([1, 2]);

test.for<[string, () => unknown, string]>([
  ["an unknown operator", () => call("aten::adda", x()), "this libtorch has no operator aten::adda"],
  ["a name that is none", () => call("::", x()), "operator names look like aten::add"],
  ["an unknown overload", () => call("aten::add.Tensr", x()), 'has no overload "Tensr": did you mean "Tensor"? (there'],
  ["too many arguments", () => call("aten::neg.", x(), 1), "takes 1 positional arguments, got 2. It is aten::neg("],
  ["an unknown keyword", () => call("aten::neg.", x(), { dim: 1 }), 'has no argument "dim"'],
  ["an argument twice", () => call("aten::neg.", x(), { self: x() }), 'got "self" twice'],
  ["a missing argument", () => call("aten::unsqueeze", x()), 'the argument "dim" (int) is missing'],
  [
    "a tensor for a number",
    () => call("aten::add.Scalar", x(), x()),
    'the argument "other" should be Scalar, got float32[2]',
  ],
  ["a tensor for an integer", () => call("aten::unsqueeze", x(), x()), "should be int, got float32[2]"],
  ["a string for a tensor", () => call("aten::neg.", "x"), 'the argument "self" should be Tensor, got a string'],
  ["numbers for tensors", () => call("aten::cat.", [1, 2]), "should be Tensor[], got an array"],
  ["a hole among tensors", () => call("aten::cat.", [x(), undefined]), "should be Tensor[]"],
  [
    "a number to write into",
    () => call("aten::add_.Tensor", 1, x()),
    'the argument "self" should be Tensor, got a number',
  ],
  ["a number for a generator", () => call("aten::rand.generator", [1], { generator: 0 }), "should be Generator?"],
  ["a generator for a number", () => call("aten::unsqueeze", x(), new RandomGenerator("cpu", 1)), "got a generator"],
  ["an array that holds itself", () => call("aten::neg.", endless()), "should be Tensor"],
])("%s is an EngineError", ([, body, message]) => {
  scope(() => {
    expect(body).toThrow(EngineError);
    expect(body).toThrow(message);
  });
});

function endless(): unknown[] {
  const array: unknown[] = [];
  array.push(array);
  return array;
}

test("the overload is chosen by types alone: its failure is the error, no other is tried", () => {
  scope(() => {
    expect(() => call("aten::add", x(), tensor([1, 2, 3]))).toThrow("must match the size");
    expect(() => call("aten::sum", x(), [7])).toThrow("Dimension out of range");
    // The dimension is invalid. That max.other could convert the number to a tensor does not matter.
    expect(() => call("aten::max", x(), 7)).toThrow("Dimension out of range");
  });
});

test("when no overload takes the arguments, the error lists them all", () => {
  scope(() => {
    expect(() => call("aten::add", x(), "1", { alpha: null })).toThrow(EngineError);
    expect(() => call("aten::add", x(), "1", { alpha: null })).toThrow(
      /^aten::add: no overload takes \(float32\[2\], a string, alpha: null\)\. There are:\n {2}aten::add\./,
    );
  });
});

test("operators that are private to libtorch are refused unless they are asked for", () => {
  scope(() => {
    const x = tensor([1, -2]);
    expect(() => call("aten::_foreach_neg_", [x])).toThrow(/private to libtorch/);
    expect(() => call("_stack", [])).toThrow(/private to libtorch/);
    expect(numbers("aten::__and__", tensor([6], { dtype: "int64" }), 3)).toEqual([2]); // Python's operator names are public
  });
});

test("an operator that does not get its memory leaves the sizes of its tensors as they were", () => {
  scope(() => {
    const x = tensor([1, 2, 3]);
    expect(() => call("aten::resize_", x, [2 ** 40])).toThrow(EngineError);
    expect([x.clearShapeCache().shape, x.sum().item()]).toEqual([[3], 6]);
    const wide = tensor([1]).expand([2 ** 40]);
    expect(() => call("aten::add.out", wide, wide, { out: x })).toThrow(EngineError);
    expect([x.clearShapeCache().shape, x.sum().item()]).toEqual([[3], 6]);
  });
});
