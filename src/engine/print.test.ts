import { inspect } from "node:util";
import { expect, test } from "vitest";
import { call } from "./operator.js";
import { empty, zeros } from "./ops.generated.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

const printed = (make: () => Tensor): string => scope(() => String(make()));

test("a small tensor is shown whole, aligned", () => {
  expect(
    printed(() =>
      tensor([
        [1, -2.5],
        [30, 4],
      ]),
    ),
  ).toBe("Tensor float32[2, 2]\n[[ 1.0000, -2.5000],\n [30.0000,  4.0000]]");
});

test("a scalar is one number", () => {
  expect(printed(() => tensor(2.00004))).toBe("Tensor float32[]\n2.0000");
});

test("integers, large ones too, and truth values are written as such", () => {
  expect(printed(() => tensor([1, -20], { dtype: "int32" }))).toBe("Tensor int32[2]\n[  1, -20]");
  expect(printed(() => tensor(BigInt64Array.of(2n ** 60n + 1n)))).toBe("Tensor int64[1]\n[1152921504606846977]");
  expect(printed(() => tensor([true, false]))).toBe("Tensor bool[2]\n[ true, false]");
});

test("values that are not finite are printed by name", () => {
  expect(printed(() => tensor([1, Number.NaN, -Infinity]))).toBe(
    "Tensor float32[3]\n[   1.0000,       NaN, -Infinity]",
  );
});

test("exponents are used where four decimals would lose a number", () => {
  expect(printed(() => tensor([1e-5, 2], { dtype: "float64" }))).toBe("Tensor float64[2]\n[1.0000e-5, 2.0000e+0]");
  expect(printed(() => tensor([123456, 0], { dtype: "float64" }))).toBe("Tensor float64[2]\n[1.2346e+5, 0.0000e+0]");
  expect(printed(() => tensor([99999, 0.001], { dtype: "float64" }))).toBe(
    "Tensor float64[2]\n[99999.0000,     0.0010]",
  );
});

test("half precision prints as numbers, and a gradient is mentioned", () => {
  expect(printed(() => tensor([1, 0.5], { dtype: "bfloat16" }).requiresGrad_())).toBe(
    "Tensor bfloat16[2] requires grad\n[1.0000, 0.5000]",
  );
});

test("an empty tensor, one without data and a complex one show what they are", () => {
  expect(printed(() => zeros([0, 3]))).toBe("Tensor float32[0, 3]");
  expect(printed(() => empty([2], { device: "meta" }))).toBe("Tensor float32[2]@meta");
  expect(printed(() => call("aten::view_as_complex", tensor([1, 2])) as Tensor)).toBe("Tensor complex64[]");
});

test("the middle of a long tensor is not printed, and not read", () => {
  scope(() => {
    const many = tensor(Int32Array.from({ length: 2000 }, (_, i) => i));
    expect(String(many)).toBe("Tensor int32[2000]\n[   0,    1,    2, …, 1997, 1998, 1999]");
    const wide = many.view(500, 4);
    expect(String(wide)).toBe(
      "Tensor int32[500, 4]\n[[   0,    1,    2,    3],\n [   4,    5,    6,    7],\n [   8,    9,   10,   11],\n …,\n" +
        " [1988, 1989, 1990, 1991],\n [1992, 1993, 1994, 1995],\n [1996, 1997, 1998, 1999]]",
    );
    // 2^40 elements, of which six are read.
    expect(String(tensor([1], { dtype: "int8" }).expand([2 ** 40]))).toBe(
      "Tensor int8[1099511627776]\n[1, 1, 1, …, 1, 1, 1]",
    );
  });
});

test("long rows are broken into lines", () => {
  const lines = printed(() => tensor(Array.from({ length: 30 }, (_, i) => i))).split("\n");
  expect(lines).toHaveLength(4);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(lines[1].startsWith("[ 0.0000,  1.0000,")).toBe(true);
  expect(lines[2].startsWith(" 11.0000, ")).toBe(true);
  expect(lines.at(-1)?.endsWith("29.0000]")).toBe(true);
});

test("many dimensions do not print a million numbers", () => {
  expect(printed(() => zeros(Array(20).fill(2)))).toBe(`Tensor float32[${Array(20).fill(2).join(", ")}]`);
  expect(printed(() => zeros(Array(5).fill(9))).length).toBeLessThan(20_000);
});

test("Node's own printing shows the same", () => {
  scope(() => {
    const x = tensor([1]);
    expect(inspect({ x })).toBe("{\n  x: Tensor float32[1]\n  [1.0000]\n}");
    x.dispose();
    expect(inspect(x)).toBe("Tensor (freed)");
  });
});
