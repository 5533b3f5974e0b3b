import { expect, test } from "vitest";
import { loadNative } from "../engine/load.js";
import { empty, ones } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { handle } from "../engine/wrap.js";
import { BatchNorm2d, convNorm } from "./batch-norm.js";
import { Conv2d } from "./conv.js";
import { PackedConvs } from "./packed-conv.js";

const draw = (random: Random, shape: readonly number[]): Tensor => {
  const x = empty([...shape]);
  random.normal_(x, 0, 1);
  return x;
};

/** Whether this libtorch has XNNPACK. */
const hasPacks = scope(() => {
  const pack = loadNative().packConv(handle(ones([1, 1, 1, 1])), handle(ones([1])), 1, 0, 1, 0, 6);
  if (pack !== undefined) loadNative().freePackedConv(pack);
  return pack !== undefined;
});

test.runIf(hasPacks).each([
  ["pointwise", { kernel: 1 }],
  ["depthwise", { kernel: 3, stride: 2, padding: 1, groups: 8 }],
  ["ordinary", { kernel: 3, padding: 1 }],
] as const)("packed, a %s convolution with its norm gives the usual numbers", (_, options) => {
  for (const act of [undefined, "relu", "relu6", "silu"] as const)
    for (const hasResidual of [false, true])
      scope(() => {
        const random = new Random(7, ["packed", String(act)]);
        using conv = new Conv2d(8, 8, { ...options, bias: false });
        using norm = new BatchNorm2d(8);
        for (const layer of [conv, norm]) layer.initialize(random).eval();
        random.for("mean").normal_(norm.running_mean, 0, 1);
        const x = draw(random.for("x"), [3, 8, 9, 7]).contiguous({ memory_format: "channels_last" });
        const plain = (residual?: Tensor): Tensor => noGrad(() => convNorm(conv, norm, x, { act, residual }));
        const residual = hasResidual ? draw(random.for("residual"), plain().shape) : undefined;
        using packs = new PackedConvs();
        const packed = (): number[] => packs.run(() => plain(residual)).toNumbers();
        const usual = plain(residual).toNumbers();
        expect(usual.some((value) => Math.abs(value) > 0.5)).toBe(true);
        expect(packed()).toEqual(usual.map((value) => expect.closeTo(value, 4)));
        expect(packed()).toEqual(packed());
      });
});

test.runIf(hasPacks)("what a packed convolution cannot take is refused, and a freed one too", () => {
  const { packConv, packedConv, freePackedConv } = loadNative();
  scope(() => {
    const [weight, bias] = [ones([4, 2, 3, 3]), ones([4])];
    for (const [
      stride,
      padding,
      groups,
      low,
      high,
    ] of [[0, 1, 1, 0, 6], [1, -1, 1, 0, 6], [1, 1, 3, 0, 6], [1, 1, 1, 6, 6]]) // biome-ignore format: a list
      expect(() => packConv(handle(weight), handle(bias), stride, padding, groups, low, high)).toThrow("out of range");
    expect(() => packConv(handle(weight), handle(ones([3])), 1, 1, 1, 0, 6)).toThrow("expected a float32 weight");
    const pack = packConv(handle(weight), handle(bias), 1, 0, 1, 0, 6)!;
    for (const shape of [
      [1, 3, 8, 8],
      [1, 2, 2, 8],
      [2, 8, 8],
      [0, 2, 8, 8],
    ])
      expect(() => packedConv(handle(ones(shape)), pack)).toThrow("expected float32 [n, 2, height, width]");
    freePackedConv(pack);
    expect(() => packedConv(handle(ones([1, 2, 8, 8])), pack)).toThrow("has been freed");
  });
});

test("without packed convolutions in use, nothing is packed", () => {
  scope(() => {
    using packs = new PackedConvs();
    using conv = new Conv2d(2, 2, { kernel: 1 });
    expect(packs.convolve(conv, ones([2, 2]), [0, 6], () => expect.fail("folded"))).toBeUndefined();
  });
});
