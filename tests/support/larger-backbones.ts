/**
 * Backbones that are a smaller one of their family with other counts and widths. Their numbers are those of the smaller one,
 * which every test runs; of these, tests/parity/torchvision-shapes.test.ts checks names and shapes, which costs nothing.
 */
export const LARGER_BACKBONES: readonly string[] = [
  "resnet101",
  "resnet152",
  "efficientnet_b1",
  "efficientnet_b2",
  "efficientnet_b3",
  "efficientnet_b4",
  "regnet_y_800mf",
  "regnet_y_1_6gf",
  "regnet_y_3_2gf",
  "regnet_y_8gf",
  "regnet_y_16gf",
  "regnet_y_32gf",
  "convnext_small",
  "convnext_base",
];
