/**
 * Backbones that are a smaller one of their family with other counts and widths. Their numbers are those of the smaller one,
 * which every test runs; of these, tests/parity/torchvision-shapes.test.ts checks names and shapes, which costs nothing.
 */
export const LARGER_BACKBONES: readonly string[] = ["resnet101", "resnet152"];
