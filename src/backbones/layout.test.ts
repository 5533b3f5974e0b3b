import { expect, test } from "vitest";
import { backbones } from "./index.js";
import { usesChannelsLast } from "./layout.js";

const picture = { inputShape: [3, 224, 224], device: "cpu", precision: "float32" } as const;

test("on the CPU the networks that were measured to be faster so have their channels last, in either precision", () => {
  for (const precision of ["float32", "bf16"] as const) {
    const last = Object.keys(backbones).filter((backbone) => usesChannelsLast({ ...picture, backbone, precision }));
    expect(last).toEqual([
      "resnet18",
      "resnet34",
      "resnet50",
      "resnet50_v1",
      "resnet101",
      "resnet152",
      "mobilenet_v2",
      "efficientnet_b0",
      "efficientnet_b1",
      "efficientnet_b2",
      "efficientnet_b3",
      "efficientnet_b4",
      "convnext_tiny",
      "convnext_small",
      "convnext_base",
    ]);
  }
});

test("on a GPU all pictures have in bfloat16, and in float32 only those of the network for MNIST", () => {
  const on = { ...picture, device: "cuda:0" };
  const all = Object.keys(backbones);
  expect(all.filter((backbone) => !usesChannelsLast({ ...on, backbone, precision: "bf16" }))).toEqual([]);
  expect(all.filter((backbone) => usesChannelsLast({ ...on, backbone }))).toEqual(["mnist-cnn"]);
});

test("vectors have no channels", () => {
  for (const device of ["cpu", "cuda:0"])
    expect(usesChannelsLast({ backbone: "mlp", inputShape: [20], device, precision: "bf16" })).toBe(false);
});
