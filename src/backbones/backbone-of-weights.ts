/** Identifies the backbone of a weight file: by what the file says, and by the names of its tensors. */

/** A ResNet-50 with the strides of the paper, whose files have the names and shapes of `resnet50`. */
export const RESNET50_V1 = "resnet50_v1";

/** Backbones with published pretrained weights, in order of preference. The first is fast on a CPU. */
export const trainedBackbones = [
  "mobilenet_v2",
  "resnet50",
  RESNET50_V1,
  "resnet18",
  "resnet34",
  "resnet101",
  "resnet152",
] as const;

/** Names of tensors that a backbone has, and names that it does not have. */
const SIGNS = {
  mobilenet_v2: { has: ["features.1.conv.0.0.weight", "features.18.0.weight"], lacks: [] },
  resnet50: { has: ["layer1.0.conv3.weight", "layer3.5.conv3.weight"], lacks: ["layer3.6.conv3.weight"] },
  resnet101: { has: ["layer1.0.conv3.weight", "layer3.22.conv3.weight"], lacks: ["layer3.23.conv3.weight"] },
  resnet152: { has: ["layer1.0.conv3.weight", "layer3.35.conv3.weight"], lacks: ["layer3.36.conv3.weight"] },
  resnet34: { has: ["layer1.2.conv2.weight", "layer3.5.conv2.weight"], lacks: ["layer1.0.conv3.weight"] },
  resnet18: { has: ["layer1.1.conv2.weight"], lacks: ["layer1.0.conv3.weight", "layer1.2.conv2.weight"] },
} as const satisfies Readonly<Record<string, { has: readonly string[]; lacks: readonly string[] }>>;

/** Returns the backbone with tensors of these names, or undefined if none of the known ones matches. */
export function backboneOfNames(names: readonly string[]): string | undefined {
  const has = (sign: string): boolean => names.some((name) => name === sign || name.endsWith(`.${sign}`));
  const found = Object.entries(SIGNS).find(([, { has: all, lacks }]) => all.every(has) && !lacks.some(has));
  return found?.[0];
}

/**
 * Returns the backbone that a file says it is for: as weights, in its metadata "backbone", or as a model of this
 * program.
 */
export function statedBackbone({ backbone, nudge }: Readonly<Record<string, string>>): string | undefined {
  if (backbone !== undefined) return backbone;
  try {
    const stated: unknown = JSON.parse(nudge ?? "null")?.backbone;
    return typeof stated === "string" ? stated : undefined;
  } catch {
    return undefined; // loading the file as a model reports the problem
  }
}
