/**
 * Loads pretrained weights from common files: torchvision's, DomainBed's checkpoints, and both of them saved from a
 * DataParallel model.
 */

import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { readWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { BatchNorm } from "../nn/batch-norm.js";
import type { Backbone } from "./backbone.js";

/**
 * The prefixes of the backbone in DomainBed's algorithms. The same tensors also exist under other names, which are
 * ignored. The order matters: a ResNet is one level deeper than the small networks.
 */
const DOMAINBED_PREFIXES = [
  "featurizer.network.",
  "featurizer.",
  "network_f.network.", // SagNet
  "network_f.",
  "network.net.0.network.", // Fish
  "network.net.0.",
] as const;

/** The prefixes of classification layers, which a backbone does not have. */
const HEADS = ["fc.", "classifier."] as const;

/** Loads pretrained weights into a backbone. All mismatches are reported in one error, before anything changes. */
export function loadPretrained<B extends Backbone>(backbone: B, path: string): B {
  const refusal = backbone.refuses?.(metadataOf(path));
  if (refusal !== undefined) throw new UsageError(`loading weights from ${path}: ${refusal}`);
  scope(() => {
    const file = readWeights(path);
    const state = adaptInput(backbone, backbone.adopt?.(file) ?? backboneState(file));
    refuseFolded(backbone, state, path);
    // Files from before PyTorch 0.4.1 and converted files have no batch count. Only a momentum of null uses it.
    backbone.loadStateDict(state, { from: path, ignoreMissing: (key) => key.endsWith(".num_batches_tracked") });
  });
  return backbone;
}

function metadataOf(path: string): Readonly<Record<string, string>> {
  using file = openWeights(path);
  return file.metadata;
}

/** Returns the backbone's tensors with the names of the backbone. */
function backboneState(file: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const state = under("module.", file) ?? new Map(file);
  for (const prefix of DOMAINBED_PREFIXES) {
    const found = under(prefix, state);
    if (found) return found;
  }
  for (const key of state.keys()) if (HEADS.some((head) => key.startsWith(head))) state.delete(key);
  return state;
}

/** Returns the tensors whose names have a prefix, without the prefix, or undefined if there are none. */
function under(prefix: string, state: ReadonlyMap<string, Tensor>): Map<string, Tensor> | undefined {
  const found = [...state].filter(([key]) => key.startsWith(prefix));
  return found.length > 0 ? new Map(found.map(([key, value]) => [key.slice(prefix.length), value])) : undefined;
}

/**
 * For inputs that are not RGB, channel i of the first convolution is initialized with the pretrained channel i mod 3.
 */
function adaptInput(backbone: Backbone, state: Map<string, Tensor>): Map<string, Tensor> {
  const first = [...backbone.namedParameters()].find(([, { shape }]) => shape.length === 4);
  if (!first) return state;
  const [name, { shape }] = first;
  const trained = state.get(name);
  if (trained?.shape.length === 4 && trained.shape[1] === 3 && shape[1] !== 3) {
    const channels = Array.from({ length: shape[1] }, (_, i) => i % 3);
    state.set(name, trained.indexSelect(1, tensor(channels, { dtype: "int64" })));
  }
  return state;
}

/**
 * Rejects files in which batch norm is already folded into the convolutions, with statistics that have no effect. They
 * work as long as batch norm is frozen. Training it would normalize feature maps that no longer match the norm.
 */
function refuseFolded(backbone: Backbone, state: ReadonlyMap<string, Tensor>, path: string): void {
  const norms = [...backbone.modules()].flatMap(([name, module]) =>
    module instanceof BatchNorm ? [{ name, module }] : [],
  );
  if (norms.length === 0 || norms.every(({ module }) => module.frozen)) return;
  const folded = norms.every(({ name, module }) => {
    const all = (key: string, value: number) =>
      state
        .get(`${name}.${key}`)
        ?.toNumbers()
        .every((number) => Math.abs(number - value) < 1e-7) ?? false;
    // With a variance of exactly 1 − eps, the division by √(variance + eps) is a division by 1. A new network has a
    // variance of 1.
    return all("running_mean", 0) && all("weight", 1) && all("running_var", 1 - module.eps);
  });
  if (folded) {
    throw new UsageError(
      `loading weights from ${path}: its batch norms are folded into the convolutions (weight 1, mean 0, variance ` +
        `1 − eps), so their statistics cannot be trained. Keep batchNorm: "frozen" (in a run, freezeBatchNorm=true), or take a file that has them`,
    );
  }
}
