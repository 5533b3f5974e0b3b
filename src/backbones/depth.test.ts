import { expect, test } from "vitest";
import { LARGER_BACKBONES } from "../../tests/support/larger-backbones.js";
import { Random } from "../engine/random.js";
import { BatchNorm } from "../nn/batch-norm.js";
import type { Backbone } from "./backbone.js";
import { depthRates, depthsOf, freezeBackbone } from "./depth.js";
import { backboneNamed, backbones } from "./index.js";

const built = (id: string): Backbone => backboneNamed(id).build({ batchNorm: "trained" });

/** Returns the names of parameters, without the last part. */
function namesIn(backbone: Backbone, part: Iterable<object>): string[] {
  const names = new Map<object, string>([...backbone.namedParameters()].map(([name, each]) => [each, name]));
  return [...new Set([...part].map((each) => names.get(each)!.replace(/\.?(weight|bias)$/, "")))];
}

test("a backbone has the number of blocks of its definition, and every parameter is in one part", () => {
  const ids = Object.keys(backbones).filter((id) => backboneNamed(id).blocks !== undefined);
  for (const id of ids) {
    using backbone = backboneNamed(id).build();
    expect({ id, blocks: backbone.orderedBlocks!().length }).toEqual({ id, blocks: backboneNamed(id).blocks });
    if (LARGER_BACKBONES.includes(id) || /_[bl]_?\d\d/.test(id)) continue;
    const { stem, blocks, end } = depthsOf(backbone)!;
    const all = [...stem, ...blocks.flat(), ...end];
    expect(all.length, id).toBe(backbone.parameters().length);
    expect(new Set(all).size, id).toBe(all.length);
    expect(Math.min(stem.length, ...blocks.map((block) => block.length)), id).toBeGreaterThan(0);
  }
});

test("the stem is what comes before the blocks, a layer between two goes with the next, and the rest is the end", () => {
  using resnet = built("resnet18");
  const ofResnet = depthsOf(resnet)!;
  expect(namesIn(resnet, ofResnet.stem)).toEqual(["conv1", "bn1"]);
  expect(namesIn(resnet, ofResnet.blocks[2]).filter((name) => !/conv|bn/.test(name))).toEqual([
    "layer2.0.downsample.0",
    "layer2.0.downsample.1",
  ]);
  expect(ofResnet.end).toEqual([]);
  using convnext = built("convnext_tiny");
  const ofConvnext = depthsOf(convnext)!;
  expect(namesIn(convnext, ofConvnext.stem)).toEqual(["features.0.0", "features.0.1"]);
  expect(namesIn(convnext, ofConvnext.blocks[3]).slice(0, 2)).toEqual(["features.2.0", "features.2.1"]);
  expect(namesIn(convnext, ofConvnext.end)).toEqual(["classifier.0"]);
  using efficientnet = built("efficientnet_b0");
  expect(namesIn(efficientnet, depthsOf(efficientnet)!.end)).toEqual(["features.8.0", "features.8.1"]);
  using vit = built("vit_s_16");
  expect(namesIn(vit, depthsOf(vit)!.stem)).toEqual(["cls_token", "pos_embed", "patch_embed.proj"]);
  expect(namesIn(vit, depthsOf(vit)!.end)).toEqual(["norm"]);
  expect(depthsOf(built("small-cnn"))).toBeUndefined();
});

test.each([
  ["stem", ["conv1", "bn1"], 20 - 1],
  ["all-but-1", /^(?!layer4\.1)/, 2],
  ["all-but-8", ["conv1", "bn1"], 20 - 1],
  ["all", /./, 0],
] as const)("freeze %s keeps parameters out of training, and the statistics of their norms", (freeze, which, norms) => {
  using backbone = freezeBackbone(built("resnet18").initialize(new Random(1)), freeze);
  const frozen = [...backbone.namedParameters()].filter(([, each]) => each.frozen).map(([name]) => name);
  const isMeant = (name: string): boolean =>
    which instanceof RegExp ? which.test(name) : which.some((prefix) => name.startsWith(`${prefix}.`));
  expect(frozen).toEqual([...backbone.namedParameters()].map(([name]) => name).filter(isMeant));
  expect(frozen.length + backbone.parameters().length).toBe([...backbone.namedParameters()].length);
  expect(backbone.parameters().every(({ requiresGrad }) => requiresGrad)).toBe(true);
  const moving = [...backbone.modules()].filter(([, each]) => each instanceof BatchNorm && !each.frozen);
  expect(moving).toHaveLength(norms);
});

test("rates fall by the same factor from block to block: decay^(L + 1 − i), the end's as the last block's", () => {
  using backbone = built("efficientnet_b0");
  const rates = depthRates(backbone, 0.5);
  const { stem, blocks, end } = depthsOf(backbone)!;
  const of = (part: Iterable<object>) => [...new Set([...part].map((each) => rates.get(each as never)))];
  expect(of(stem)).toEqual([0.5 ** 17]);
  for (const [i, block] of blocks.entries()) expect(of(block)).toEqual([0.5 ** (16 - i)]);
  expect(of(end)).toEqual([0.5]);
});

test("a backbone that does not name its blocks can only be frozen as a whole", () => {
  using backbone = built("small-cnn");
  expect(() => freezeBackbone(backbone, "stem")).toThrow("freeze stem: SmallCnn does not say which its blocks are");
  expect(() => depthRates(backbone, 0.9)).toThrow("layerDecay 0.9: SmallCnn does not say which its blocks are");
  expect(() => freezeBackbone(built("toy-cnn"), "all-but-4")).toThrow("freeze all-but-4: ToyCnn has 3 blocks");
  expect(freezeBackbone(backbone, "all").parameters()).toEqual([]);
});
