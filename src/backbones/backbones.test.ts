import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { LARGER_BACKBONES } from "../../tests/support/larger-backbones.js";
import { liveTensors, memory, resetPeakMemory } from "../engine/device.js";
import { Random, withRandom } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { BatchNorm } from "../nn/batch-norm.js";
import { withPrecision } from "../nn/precision.js";
import { StochasticDepth } from "../nn/stochastic-depth.js";
import { type BackboneOptions, backboneNamed, backbones, type VisionTransformer } from "./index.js";
import { parametersOf, TRANSFORMERS, type TransformerId } from "./transformer-layouts.js";

const VECTORS = ["mlp", "linear-map", "diagonal-map"];

/** The vision transformers differ only in size, so the tests use the smallest of two kinds. */
const SIDES: Record<string, number> = { vit_s_16: 64, dinov2_vits14_reg: 56 };

/** Every backbone except the larger ones of a family, with the options that it needs. */
const ALL = Object.keys(backbones)
  .filter((id) => !LARGER_BACKBONES.includes(id) && (!Object.hasOwn(TRANSFORMERS, id) || Object.hasOwn(SIDES, id)))
  .map((id) => {
    const options: BackboneOptions = VECTORS.includes(id) ? { inputShape: [10] } : {};
    const side = SIDES[id];
    return { id, options: side === undefined ? options : { inputShape: [3, side, side] } };
  });

test.each([
  // From timm, without the classifier.
  ["vit_s_16", 224, 384, 21_665_664],
  ["vit_b_16", 224, 768, 85_798_656],
  ["vit_b_32", 224, 768, 87_455_232],
  ["vit_l_16", 224, 1024, 303_301_632],
  // From Meta's files, without the mask token.
  ["dinov2_vits14", 518, 384, 22_056_576 - 384],
  ["dinov2_vitb14", 518, 768, 86_580_480 - 768],
  ["dinov2_vitl14", 518, 1024, 304_368_640 - 1024],
  ["dinov2_vits14_reg", 518, 384, 22_058_112 - 384],
  ["dinov2_vitb14_reg", 518, 768, 86_583_552 - 768],
  ["dinov2_vitl14_reg", 518, 1024, 304_372_736 - 1024],
  // From OpenAI's image towers, with the projection.
  ["clip_vit_b_32", 224, 512, 87_849_216],
  ["clip_vit_b_16", 224, 512, 86_192_640],
  ["clip_vit_l_14", 224, 768, 303_966_208],
])("%s at %d pixels has %d features and the published number of parameters", (id, side, width, count) => {
  scope(() => {
    using backbone = backboneNamed(id).build({ inputShape: [3, side, side] });
    expect(backbone.width).toBe(width);
    expect(backbone.parameters().reduce((sum, { numel }) => sum + numel, 0)).toBe(count);
    expect(parametersOf(TRANSFORMERS[id as TransformerId], side)).toBe(count);
  });
});

test("pictures that the patches do not divide are an error that names a size that they do", () => {
  expect(() => backboneNamed("vit_b_16").build({ inputShape: [3, 100, 100] })).toThrow(
    "backbone vit_b_16: pictures of 100×100 pixels do not divide into patches of 16×16; take a multiple of 16, such as 96",
  );
  scope(() => {
    using backbone = backboneNamed("dinov2_vits14").build();
    expect(() => backbone.forward(formulaTensor("x", [1, 3, 32, 32]))).toThrow("such as 28");
  });
});

test("a transformer shows the map of patches and the tokens after each quarter of its blocks, and takes changed ones", () => {
  scope(() => {
    using backbone = fillByFormula(
      backboneNamed("vit_s_16").build({ inputShape: [3, 32, 32] }) as VisionTransformer,
    ).eval();
    const x = formulaTensor("x", [2, 3, 32, 32]);
    const shapes: string[] = [];
    const features = backbone.stages(x, (map, stage) => {
      shapes.push(`${stage}: ${map.shape}`);
      return map;
    });
    expect(shapes).toEqual(["0: 2,384,2,2", "1: 2,384,5,1", "2: 2,384,5,1", "3: 2,384,5,1", "4: 2,384,5,1"]);
    // Without `onStage`, the last block computes only the class token.
    expectClose(backbone.forward(x), features, { rtol: 1e-5, atol: 1e-5 });
    const changed = backbone.stages(x, (map, stage) => (stage === 4 ? map.mul(0) : map));
    expect(changed.sub(backbone.norm.bias).abs().max().item()).toBe(0); // the norm of 0 is its bias
  });
});

function inputFor(shape: readonly number[], n = 2): Tensor {
  const small = shape.length === 3 && shape[1] === 224 ? [shape[0], 64, 64] : shape;
  return formulaTensor("x", [n, ...small]);
}

test("an unknown backbone is an error that suggests the nearest name", () => {
  expect(() => backboneNamed("resnet51")).toThrow('unknown backbone "resnet51": did you mean "resnet50"?');
  expect(() => backboneNamed("toString")).toThrow(UsageError);
});

test.each(ALL)(
  "$id is registered under its id, and initialised gives finite features [n, width]",
  ({ id, options }) => {
    expect(backboneNamed(id).id).toBe(id);
    const before = liveTensors();
    scope(() => {
      using backbone = backboneNamed(id).build(options).initialize(new Random(1));
      const features = noGrad(() => backbone.forward(inputFor(backbone.inputShape)));
      expect(features.shape).toEqual([2, backbone.width]);
      expect(features.dtype).toBe("float32");
      expect(features.isfinite().allTrue().item()).toBe(1);
    });
    expect(liveTensors()).toBe(before);
  },
);

test.each(ALL)("$id gives gradients in float32 and features near float32's in bf16", ({ id, options }) => {
  scope(() => {
    using backbone = fillByFormula(backboneNamed(id).build(options)).eval();
    const x = inputFor(backbone.inputShape);
    const full = noGrad(() => backbone.forward(x));
    const low = withPrecision("bf16", () => backbone.forward(x));
    low.square().mean().backward();
    expect(low.dtype).toBe("float32");
    expect(backbone.parameters().every(({ grad }) => grad?.dtype === "float32")).toBe(true);
    // ConvNeXt's last norm subtracts the mean, which increases the relative error: PyTorch's bfloat16 has an error of
    // 4.5 % here.
    const tolerance = id === "convnext_tiny" ? 0.06 : 0.03;
    expect(low.sub(full).norm().item() / full.norm().item()).toBeLessThan(tolerance);
  });
});

test.each([
  "toy-cnn",
  "mnist-cnn",
  "wide-resnet-16-2",
  "resnet50",
  "mobilenet_v2",
  "regnet_y_400mf",
  "convnext_tiny",
  "clip_rn50",
])("%s holds no map but the features", (id) => {
  scope(() => {
    using backbone = fillByFormula(backboneNamed(id).build());
    const x = inputFor(backbone.inputShape);
    const before = liveTensors();
    const features = backbone.forward(x);
    expect(liveTensors()).toBe(before + 1);
    features.sum().backward(); // the graph holds the tensors that it needs
  });
});

test("without gradients a ResNet-18 needs memory for a few maps at a time", () => {
  scope(() => {
    using backbone = fillByFormula(backboneNamed("resnet18").build());
    const x = formulaTensor("x", [8, 3, 224, 224]);
    const before = memory().used;
    resetPeakMemory();
    noGrad(() => backbone.forward(x));
    // The first convolution's feature map has 26 MB, its pooled map 6 MB, and the indices of the pooling 13 MB. All
    // feature maps and folded weights together would be 131 MB.
    expect(memory().peak - before).toBeLessThan(60e6);
  });
});

const WITH_STAGES = {
  "toy-cnn": ["4×8×8", "4×8×8", "6×4×4", "8×2×2"],
  "wide-resnet-16-2": ["32×32×32", "64×16×16", "128×8×8"],
  resnet18: ["64×16×16", "64×16×16", "128×8×8", "256×4×4", "512×2×2"],
  resnet50: ["64×16×16", "256×16×16", "512×8×8", "1024×4×4", "2048×2×2"],
  resnet50_v1: ["64×16×16", "256×16×16", "512×8×8", "1024×4×4", "2048×2×2"],
  clip_rn50: ["64×16×16", "256×16×16", "512×8×8", "1024×4×4", "2048×2×2"],
  mobilenet_v2: ["16×32×32", "24×16×16", "32×8×8", "96×4×4", "320×2×2"],
  efficientnet_b0: ["16×32×32", "24×16×16", "40×8×8", "112×4×4", "320×2×2"],
  regnet_y_400mf: ["32×32×32", "48×16×16", "104×8×8", "208×4×4", "440×2×2"],
  convnext_tiny: ["96×16×16", "96×16×16", "192×8×8", "384×4×4", "768×2×2"],
};

test.each(Object.entries(WITH_STAGES))("%s shows its stages, and takes other maps for them", (id, sizes) => {
  scope(() => {
    using backbone = fillByFormula(backboneNamed(id).build());
    const x = inputFor(backbone.inputShape);
    const maps: Tensor[] = [];
    const copies: Tensor[] = [];
    const features = backbone.stages!(x, (map, stage) => {
      expect(stage).toBe(maps.length);
      maps.push(map);
      copies.push(map.clone());
      return map;
    });
    expect(maps.map(({ shape }) => shape.slice(1).join("×"))).toEqual(sizes);
    expect(maps.map(({ shape }) => shape[1])).toEqual(backbone.stageChannels);
    features.sum().backward();
    // In-place operations must not change a feature map that `onStage` has received.
    for (const [i, map] of maps.entries()) expect(map.equal(copies[i])).toBe(true);

    fillByFormula(backbone); // the running statistics of wide-resnet have changed
    expectClose(backbone.forward(x), features, { rtol: 1e-6, atol: 1e-6 });
    const last = sizes.length - 1;
    const changed = backbone.stages!(x, (map, stage) => (stage === last ? map.mul(0) : map));
    // The result does not depend on x. Equal rows of a product may differ in their last bit, depending on the processor.
    expectClose(changed.select(0, 0), changed.select(0, 1), { rtol: 1e-6, atol: 1e-7 });
  });
});

test.each(["resnet18", "mobilenet_v2", "efficientnet_b0", "convnext_tiny"])(
  "%s gives the same in channels-last, gradients too",
  (id) => {
    scope(() => {
      const [plain, last] = (["contiguous", "channels_last"] as const).map((memoryFormat) => {
        using backbone = fillByFormula(backboneNamed(id).build()).to({ memoryFormat });
        const features = backbone.forward(inputFor(backbone.inputShape).to({ memoryFormat }));
        features.square().mean().backward();
        const gradients = backbone.parameters().map((parameter) => parameter.grad!);
        return { features, gradients };
      });
      expectClose(last.features, plain.features, { rtol: 1e-4, atol: 1e-5 });
      for (const [i, gradient] of last.gradients.entries()) {
        const size = plain.gradients[i].abs().max().item();
        expectClose(gradient, plain.gradients[i], { rtol: 1e-3, atol: 1e-4 * size });
      }
    });
  },
);

test("batch norm is frozen in networks that start from trained weights by default, and never in WideResNet", () => {
  const norms = (id: string, options?: BackboneOptions) => {
    using backbone = backboneNamed(id).build(options);
    return [...backbone.modules()].flatMap(([, module]) => (module instanceof BatchNorm ? [module.frozen] : []));
  };
  expect(norms("resnet50")).toEqual(new Array(53).fill(true));
  expect(norms("clip_rn50")).toEqual(new Array(55).fill(true));
  expect(norms("mobilenet_v2")).toEqual(new Array(52).fill(true));
  expect(norms("efficientnet_b0")).toEqual(new Array(49).fill(true));
  expect(norms("regnet_y_400mf", { batchNorm: "trained" })).toEqual(new Array(53).fill(false));
  expect(norms("resnet18", { batchNorm: "trained" })).toEqual(new Array(20).fill(false));
  expect(norms("wide-resnet-16-2", { batchNorm: "frozen" })).toEqual(new Array(13).fill(false));
  expect(() => norms("resnet18", { batchNorm: "forzen" as "frozen" })).toThrow('did you mean "frozen"?');
});

test("dropout falls on the features of a ResNet in training only", () => {
  scope(() => {
    using backbone = fillByFormula(backboneNamed("resnet18").build({ dropout: 0.5 }));
    const x = inputFor(backbone.inputShape);
    const dropped = withRandom(new Random(1), () => backbone.forward(x)).toNumbers();
    const whole = backbone.eval().forward(x).toNumbers();
    expect(dropped.every((value, i) => value === 0 || Math.abs(value - 2 * whole[i]) <= 1e-4 * whole[i])).toBe(true);
    // There are about a thousand values. A ReLU came before, so some were already zero.
    const alive = whole.filter((value) => value > 0).length;
    expect(dropped.filter((value) => value > 0).length / alive).toBeCloseTo(0.5, 1);
    expect(alive).toBeGreaterThan(800);
  });
});

test("an MLP applies dropout before each ReLU, with its own draws", () => {
  scope(() => {
    using backbone = fillByFormula(
      backboneNamed("mlp").build({ inputShape: [4, 5], width: 64, depth: 4, dropout: 0.5 }),
    );
    const x = formulaTensor("x", [3, 4, 5]);
    const run = (seed: number) => withRandom(new Random(seed), () => backbone.forward(x).toNumbers());
    expect(run(1)).toEqual(run(1));
    expect(run(1)).not.toEqual(run(2));
    expect([...backbone.stateDict().keys()].filter((key) => key.endsWith("weight"))).toEqual([
      "input.weight",
      "hiddens.0.weight",
      "hiddens.1.weight",
      "output.weight",
    ]);
  });
});

test("invalid input sizes are errors that say what was expected", () => {
  expect(() => backboneNamed("resnet18").build({ inputShape: [20] })).toThrow(
    "backbone resnet18: expected pictures of the shape [channels, height, width], got [20]",
  );
  expect(() => backboneNamed("mnist-cnn").build({ inputShape: [1, 28, 28], inputChannels: 2 })).toThrow("contradicts");
  expect(() => backboneNamed("mlp").build()).toThrow("backbone mlp: expected inputShape, such as [20]");
  expect(() => backboneNamed("mlp").build({ inputShape: [3], depth: 1 })).toThrow("a depth of 2 or more");
});

test.each(["efficientnet_b0", "convnext_tiny"])("%s drops branches by keyed draws in training only", (id) => {
  scope(() => {
    using backbone = fillByFormula(backboneNamed(id).build({ stochasticDepth: 0.5 }));
    using plain = fillByFormula(backboneNamed(id).build());
    const x = inputFor(backbone.inputShape);
    const run = (seed: number) => noGrad(() => withRandom(new Random(seed), () => backbone.forward(x)));
    expect(run(1).equal(run(1))).toBe(true);
    expect(run(1).equal(run(2))).toBe(false);
    backbone.eval();
    expectClose(run(1), plain.forward(x), { rtol: 1e-5, atol: 1e-5 });
    const rates = [...backbone.modules()].flatMap(([, each]) => (each instanceof StochasticDepth ? [each.p] : []));
    // torchvision's rates: k/K of the rate at block k of EfficientNet's K = 16, and k/(K − 1) at block k of ConvNeXt's
    // K = 18.
    expect([rates[1], rates.at(-1)]).toEqual(id === "convnext_tiny" ? [0.5 / 17, 0.5] : [0.5 / 16, (0.5 * 15) / 16]);
  });
});
