/** Identifies the backbone of a weight file by the names of its tensors. */

/** Backbones with published pretrained weights, in order of preference. The first is fast on a CPU. */
export const trainedBackbones = ["mobilenet_v2", "resnet50", "resnet18", "resnet34", "resnet101", "resnet152"] as const;

/** Names of tensors that a backbone has, and names that it does not have. */
const SIGNS: Readonly<Record<(typeof trainedBackbones)[number], { has: readonly string[]; lacks: readonly string[] }>> =
  {
    mobilenet_v2: { has: ["features.1.conv.0.0.weight", "features.18.0.weight"], lacks: [] },
    resnet50: { has: ["layer1.0.conv3.weight", "layer3.5.conv3.weight"], lacks: ["layer3.6.conv3.weight"] },
    resnet101: { has: ["layer1.0.conv3.weight", "layer3.22.conv3.weight"], lacks: ["layer3.23.conv3.weight"] },
    resnet152: { has: ["layer1.0.conv3.weight", "layer3.35.conv3.weight"], lacks: ["layer3.36.conv3.weight"] },
    resnet34: { has: ["layer1.2.conv2.weight", "layer3.5.conv2.weight"], lacks: ["layer1.0.conv3.weight"] },
    resnet18: { has: ["layer1.1.conv2.weight"], lacks: ["layer1.0.conv3.weight", "layer1.2.conv2.weight"] },
  };

/** Returns the backbone with tensors of these names, or undefined if none of the known ones matches. */
export function backboneOfNames(names: readonly string[]): string | undefined {
  const has = (sign: string): boolean => names.some((name) => name === sign || name.endsWith(`.${sign}`));
  return trainedBackbones.find((id) => SIGNS[id].has.every(has) && !SIGNS[id].lacks.some(has));
}
