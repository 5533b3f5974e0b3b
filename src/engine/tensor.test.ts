import { expect, test } from "vitest";
import { EngineError, UsageError } from "../errors.js";
import { DTYPES, type DType } from "./dtype.js";
import { loadNative } from "./load.js";
import { call } from "./operator.js";
import { cat, empty, full, zeros } from "./ops.generated.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** Returns the error that a call throws, and fails if there is none. */
function errorOf(body: () => unknown): EngineError {
  try {
    scope(body);
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("numbers go in nested and come out nested", () => {
  scope(() => {
    const rows = [
      [1, 2, 3],
      [4, 5, 6],
    ];
    const x = tensor(rows);
    expect([x.shape, x.dtype, x.device, x.numel, x.rows, x.strides]).toEqual([[2, 3], "float32", "cpu", 6, 2, [3, 1]]);
    expect(x.toArray()).toEqual(rows);
    expect(x.t().toArray()).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    expect(tensor(7).toArray()).toBe(7);
    expect(tensor([]).shape).toEqual([0]);
    expect(tensor([[], []]).shape).toEqual([2, 0]);
    expect([x.size(1), x.size(-1), x.size(-2)]).toEqual([3, 3, 2]);
    expect(() => x.size(2)).toThrow("size(2): float32[2, 3] has 2 dimensions");
  });
});

test.for<[DType, number[]]>([
  ["float64", [0.1, -1e300, 0]],
  ["float32", [0.5, -(2 ** 100), 16777217]],
  ["float16", [0.5, -2048, 65504]],
  ["bfloat16", [0.5, -256, 2 ** 100]],
  ["int64", [0, -(2 ** 53 - 1), 2 ** 53 - 1]],
  ["int32", [0, -(2 ** 31), 2 ** 31 - 1]],
  ["int16", [0, -32768, 32767]],
  ["int8", [0, -128, 127]],
  ["uint8", [0, 1, 255]],
  ["bool", [0, 1, 1]],
])("%s numbers survive the way in and out", ([dtype, numbers]) => {
  scope(() => {
    const x = tensor(numbers, { dtype });
    expect(x.dtype).toBe(dtype);
    expect(x.toNumbers()).toEqual(dtype === "float32" ? numbers.map(Math.fround) : numbers);
    expect(x.bytes()).toHaveLength(3 * DTYPES[dtype].bytes);
  });
});

test("typed arrays keep their element type, are copied, and take a shape", () => {
  scope(() => {
    const source = Float64Array.of(1, 2, 3, 4);
    const x = tensor(source, { shape: [2, 2] });
    source[0] = 9;
    expect([x.dtype, x.toArray()]).toEqual([
      "float64",
      [
        [1, 2],
        [3, 4],
      ],
    ]);
    expect(tensor(Int8Array.of(-1)).dtype).toBe("int8");
    expect(tensor(Uint8ClampedArray.of(255)).dtype).toBe("uint8");
    expect(tensor(BigInt64Array.of(2n ** 60n)).data()).toEqual(BigInt64Array.of(2n ** 60n));
    expect(tensor(Float64Array.of(1.5), { dtype: "float32" }).dtype).toBe("float32");
    expect(tensor(source.subarray(2)).toNumbers()).toEqual([3, 4]);
  });
});

test("bit patterns of types that JavaScript lacks come in by a typed array of their size", () => {
  scope(() => {
    expect(tensor(Uint16Array.of(0x3f80, 0xc000), { dtype: "bfloat16" }).toNumbers()).toEqual([1, -2]);
    expect(tensor(Uint16Array.of(0x3c00), { dtype: "float16" }).toNumbers()).toEqual([1]);
    // Any byte other than 0 is true and becomes 1, because other values are invalid for a C++ bool.
    expect(tensor(Uint8Array.of(0, 1, 7), { dtype: "bool" }).bytes()).toEqual(Uint8Array.of(0, 1, 1));
    expect(tensor([1, -2], { dtype: "bfloat16" }).bytes()).toEqual(Uint8Array.of(0x80, 0x3f, 0x00, 0xc0));
  });
});

test("NaN, infinities and negative zero pass unchanged", () => {
  scope(() => {
    expect(tensor([Number.NaN, Infinity, -Infinity, -0]).toNumbers()).toEqual([Number.NaN, Infinity, -Infinity, -0]);
    expect(tensor([Number.NaN]).isfinite().toNumbers()).toEqual([0]);
  });
});

test("in-place methods change the tensor and return it", () => {
  scope(() => {
    const x = tensor([1, 2]);
    expect(x.add_(1)).toBe(x);
    expect(x.mul_(tensor([2, 3]))).toBe(x);
    expect(x.toNumbers()).toEqual([4, 9]);
  });
});

test("views share memory with their source, copies do not", () => {
  scope(() => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const flat = x.view(-1);
    expect(flat.sharesMemoryWith(x)).toBe(true);
    flat.fill_(7);
    expect(x.toNumbers()).toEqual([7, 7, 7, 7]);
    expect(x.clone().sharesMemoryWith(x)).toBe(false);
    expect(x.to({ dtype: "float32", device: "cpu" }).sharesMemoryWith(x)).toBe(true);
    x.t().select(0, 1).zero_();
    expect(x.toArray()).toEqual([
      [7, 0],
      [7, 0],
    ]);
  });
});

test("shapes and orders of dimensions are given one by one, or as a list", () => {
  scope(() => {
    const x = tensor([1, 2, 3, 4, 5, 6]);
    expect(x.view([2, 3]).shape).toEqual(x.view(2, 3).shape);
    expect(x.reshape([3, 2]).permute(1, 0).toArray()).toEqual(x.reshape(3, 2).permute([1, 0]).toArray());
    expect(tensor([7]).view([]).shape).toEqual([]);
    expect(tensor([7]).view().shape).toEqual([]);
  });
});

test("a view keeps the memory when the tensor it came from is freed", () => {
  scope(() => {
    const x = tensor([1, 2, 3]);
    const last = x.slice(0, 2);
    x.dispose();
    expect(last.toNumbers()).toEqual([3]);
  });
});

test("reductions go over everything, one dimension or several", () => {
  scope(() => {
    const x = tensor([
      [1, 2],
      [3, 6],
    ]);
    expect([x.sum().item(), x.sum(0).toNumbers(), x.sum([0, 1]).item(), x.sum(-1, true).shape]).toEqual([
      12,
      [4, 8],
      12,
      [2, 1],
    ]);
    expect([x.mean().item(), x.mean(1).toNumbers()]).toEqual([3, [1.5, 4.5]]);
    expect([x.max().item(), x.max(0).toNumbers(), x.min().item(), x.min(1, true).toArray()]).toEqual([
      6,
      [3, 6],
      1,
      [[1], [3]],
    ]);
    expect(x.variance().item()).toBeCloseTo(14 / 3, 6);
    expect(x.variance(0, { correction: 0 }).toNumbers()).toEqual([1, 4]);
    expect(x.norm().item()).toBeCloseTo(Math.sqrt(50), 6);
    expect(x.norm(1, { order: 1, keepdim: true }).toArray()).toEqual([[3], [9]]);
    expect(x.take([1, 1]).toArray()).toEqual([
      [3, 6],
      [3, 6],
    ]);
    expect(x.where(x.gt(2), 0).toNumbers()).toEqual([0, 0, 3, 6]);
    expect(x.maskedFill(x.gt(2).logicalNot(), 0).toNumbers()).toEqual([0, 0, 3, 6]); // the same on a GPU
  });
});

test("a number in arithmetic does not decide the dtype", () => {
  scope(() => {
    expect(tensor([1, 2], { dtype: "int64" }).mul(2).dtype).toBe("int64");
    expect(tensor([1, 2], { dtype: "int64" }).mul(0.5).dtype).toBe("float32");
    expect(tensor([1], { dtype: "float64" }).add(1).dtype).toBe("float64");
    expect(tensor([1], { dtype: "bfloat16" }).add(1.5).dtype).toBe("bfloat16");
    expect(tensor([1], { dtype: "uint8" }).add(tensor([1], { dtype: "int32" })).dtype).toBe("int32");
  });
});

test("to changes dtype, device and memory format, or hands out the tensor itself", () => {
  scope(() => {
    const x = empty([2, 3, 4, 5]);
    expect(x.to({})).toBe(x);
    expect(x.isChannelsLast).toBe(false);
    const last = x.to({ memoryFormat: "channels_last" });
    expect([last.isChannelsLast, last.strides]).toEqual([true, [60, 1, 15, 3]]);
    expect(last.to({ dtype: "float64" }).isChannelsLast).toBe(true);
    expect(x.to({ device: "meta" }).device).toBe("meta");
    expect(x.to({ device: "cpu", dtype: "int32" }).dtype).toBe("int32");
  });
});

test("item is for one element", () => {
  scope(() => {
    expect([tensor(3.5).item(), tensor([[2]]).item(), tensor([true]).item()]).toEqual([3.5, 2, 1]);
    expect(() => tensor([1, 2]).item()).toThrow("item: float32[2] has 2 elements, not one");
  });
});

test("share_ takes over another tensor's memory and shape, and remains itself", () => {
  scope(() => {
    const x = tensor([1, 2]);
    expect(x.shape).toEqual([2]);
    const y = tensor([[5, 6, 7]]);
    expect(x.share_(y)).toBe(x);
    expect([x.shape, x.sharesMemoryWith(y)]).toEqual([[1, 3], true]);
  });
});

test("an EngineError names operator and shapes, and its stack leads to the call", () => {
  const error = errorOf(function multiplyWrongly() {
    return zeros([32, 2048]).matmul(zeros([1024, 7]));
  });
  expect(error.name).toBe("EngineError");
  expect(error.operator).toBe("aten::matmul");
  expect(error.shapes).toEqual(["float32[32, 2048]", "float32[1024, 7]"]);
  expect(error.message).toContain("matmul(float32[32, 2048], float32[1024, 7]): ");
  expect(error.message).not.toContain("Exception raised from"); // the C++ backtrace
  expect(error.stack).toContain("multiplyWrongly");
});

test("a list of tensors is described in the error, a long one in part", () => {
  const error = errorOf(() => cat(Array.from({ length: 12 }, (_, i) => zeros([1, i]))));
  expect(error.operator).toBe("aten::cat");
  expect(error.shapes).toHaveLength(9);
  expect(error.shapes.at(-1)).toBe("… 4 more");
});

test("every use of a freed tensor is an error, and disposing of it again is not", () => {
  scope(() => {
    const x = tensor([1, 2]);
    const y = tensor([1, 2]);
    x.dispose();
    x.dispose();
    expect([x.isDisposed, x.describe(), String(x)]).toEqual([true, "a freed tensor", "Tensor (freed)"]);
    const uses: (() => unknown)[] = [
      () => x.add(1),
      () => y.add(x),
      () => y.add_(x),
      () => cat([y, x]),
      () => x.shape,
      () => x.dtype,
      () => x.data(),
      () => x.item(),
      () => x.grad,
      () => x.backward(),
      () => y.share_(x),
      () => call("aten::add", x, y),
      () => call("aten::add", y, x),
      () => {
        y.grad = x;
      },
    ];
    for (const use of uses) expect(use, String(use)).toThrow(EngineError);
    expect(() => x.add(1)).toThrow("this tensor has been freed: its scope ended or it was disposed of");
    expect(() => x.shape).toThrow("freed");
  });
});

test("a freed tensor never becomes another one, however often its slot in the addon is used again", () => {
  const freed = tensor([1]);
  freed.dispose();
  for (let i = 0; i < 2_000; i++) {
    using other = tensor([i]); // takes the slot that was freed last, whose generation is one of 511
    expect(() => freed.item()).toThrow("this tensor has been freed");
    expect(other.item()).toBe(i);
  }
});

test("a gradient that is set gets the order in memory of its tensor, and one of other sizes is refused", () => {
  scope(() => {
    const weight = tensor(new Float32Array(24), { shape: [2, 3, 2, 2] }).to({ memoryFormat: "channels_last" });
    const values = Float32Array.from({ length: 24 }, (_, i) => i);
    weight.requiresGrad_();
    weight.grad = tensor(values, { shape: [2, 3, 2, 2] });
    expect(weight.grad?.strides).toEqual([12, 1, 6, 3]);
    expect(weight.grad?.data()).toEqual(values);
    expect(() => {
      weight.grad = tensor(values, { shape: [2, 3, 4, 1] });
    }).toThrow("cannot be the gradient of");
    const pointwise = tensor(new Float32Array(6), { shape: [2, 3, 1, 1] });
    const gradient = pointwise.to({ memoryFormat: "channels_last" }).add(1);
    pointwise.requiresGrad_();
    pointwise.grad = gradient;
    expect(pointwise.grad?.sharesMemoryWith(gradient)).toBe(true); // the strides of dimensions of size 1 are arbitrary
  });
});

test.for<[string, () => unknown, string]>([
  ["a string for a tensor", () => tensor([1]).add("1" as never), "expected a tensor, got string"],
  ["null for a tensor", () => tensor([1]).add(null as never), "expected a tensor, got null"],
  ["an array for a tensor", () => tensor([1]).add([1] as never), "expected a tensor, got an array"],
  ["a symbol for a tensor", () => tensor([1]).add(Symbol("s") as never), "expected a tensor, got symbol"],
  ["a tensor for tensors", () => cat(tensor([1]) as never), "expected an array of tensors"],
  ["numbers for tensors", () => cat([1, 2] as never), "expected a tensor, got number"],
  ["a fraction for an integer", () => tensor([1]).unsqueeze(0.5), "dim: expected an integer, got 0.5"],
  ["NaN for an integer", () => tensor([1]).unsqueeze(Number.NaN), "dim: expected an integer, got nan"],
  ["a string for an integer", () => tensor([1]).unsqueeze("0" as never), 'dim: expected an integer, got "0"'],
  ["nothing for an integer", () => tensor([1]).unsqueeze(undefined as never), 'the argument "dim" (int) is missing'],
  ["a number for a list", () => tensor([1]).viewAs(0 as never), "size: expected an array of integers, got 0"],
  ["an infinite size", () => zeros([Number.POSITIVE_INFINITY]), "size: expected an integer, got inf"],
  ["an unsafe integer", () => zeros([2 ** 60]), "size: expected an integer"],
  ["a bigint too wide", () => zeros([(2n ** 70n) as never]), "an integer of at most 64 bits"],
  ["an unknown dtype", () => zeros([1], { dtype: "float" as never }), 'dtype: expected a dtype such as "float32"'],
  ["an unknown device", () => zeros([1], { device: "gpu" }), 'expected a device such as "cpu" or "cuda:0"'],
  ["an unsupported device", () => zeros([1], { device: "xla" }), "only cpu, cuda and meta devices are supported"],
  ["an unknown layout", () => zeros([1], { layout: "sparse" as never }), "only the strided layout"],
  ["an unknown memory format", () => tensor([1]).contiguous({ memory_format: "nhwc" as never }), "channels_last"],
  ["a string for a truth value", () => tensor([1]).sum(0, "yes" as never), "keepdim: expected true or false"],
  ["a tensor for a number", () => tensor([1]).clamp(tensor([1]) as never), "min: expected a number, got an object"],
  ["a dimension out of range", () => tensor([1]).softmax(3), "Dimension out of range"],
  ["shapes that do not go together", () => tensor([1, 2]).add(tensor([1, 2, 3])), "must match the size"],
  ["a negative size", () => zeros([-1]), "negative"],
  ["a data array too short", () => tensor(new Float32Array(3), { shape: [2, 2] }), "needs 16 bytes, the data has 12"],
  ["a negative shape", () => tensor(new Float32Array(3), { shape: [-3] }), "negative size -3"],
  ["complex elements", () => (call("aten::view_as_complex", tensor([1, 2])) as Tensor).data(), "view_as_real"],
])("%s is an EngineError", ([, body, message]) => {
  expect(errorOf(body).message).toContain(message);
});

test("an allocation beyond the memory or the limit is an error and does not end the process", () => {
  expect(errorOf(() => zeros([2 ** 40, 2 ** 10])).message).toContain("out of memory: 4503599.6 GB asked for");
  expect(errorOf(() => zeros([2 ** 50, 2 ** 50])).operator).toBe("aten::zeros");
  const most = 2n ** 63n - 1n;
  expect(errorOf(() => zeros([most as never, 2])).operator).toBe("aten::zeros");
  // A view of 2^40 elements takes no memory. Copying or reading it would.
  scope(() => {
    const wide = tensor([1]).expand([2 ** 40]);
    expect(wide.numel).toBe(2 ** 40);
    expect(() => wide.add(1)).toThrow("out of memory");
    expect(() => wide.data()).toThrow("1099511627776 elements of float32 are more than an array of JavaScript's holds");
    expect(() => wide.bytes()).toThrow(EngineError);
  });
});

test("a GPU is an error if the machine has none", ({ skip }) => {
  skip(loadNative().info().cuda, "skipped: there is a GPU");
  const message = 'device: "cuda": this libtorch was built without CUDA, or no GPU is visible (see nudge doctor)';
  expect(errorOf(() => zeros([1], { device: "cuda" })).message).toContain(message);
  expect(() => tensor([1], { device: "cuda:0" })).toThrow("without CUDA");
  scope(() => expect(() => tensor([1]).to({ device: "cuda" })).toThrow("without CUDA"));
});

test("an array whose buffer was transferred is refused, an empty one is not", () => {
  const gone = Float32Array.of(1, 2);
  structuredClone(gone, { transfer: [gone.buffer] });
  expect(() => tensor(gone)).toThrow(UsageError);
  expect(() => tensor(gone)).toThrow("detached");
  scope(() => expect(tensor(new Float32Array(0)).shape).toEqual([0]));
});

test("an array that a getter transfers while it is read is refused as well", () => {
  const victim = new Float32Array(1000);
  const shape = Object.defineProperty([1000], 0, {
    get() {
      structuredClone(victim, { transfer: [victim.buffer] });
      return 1000;
    },
  });
  expect(() => tensor(victim, { shape })).toThrow(EngineError);
});

test("an argument whose getter calls the engine does not disturb the call around it", () => {
  scope(() => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const dims = Object.defineProperty([1, 0], 1, { get: () => x.add(1).square().sum().item() * 0 });
    expect(x.permute(dims).toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });
});

test("an error of a getter is passed on", () => {
  const dims = Object.defineProperty([0], 0, {
    get() {
      throw new RangeError("mine");
    },
  });
  scope(() => expect(() => full([1], 0).sum(dims)).toThrow(new RangeError("mine")));
});
