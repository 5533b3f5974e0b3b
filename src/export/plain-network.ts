/**
 * A model as other programs know it: the tensors of one published network, and one linear layer on its features. The
 * map of a probe is multiplied into that layer.
 */

import { zeros } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import type { Model } from "../model/index.js";

/** Tensors of a network by name. */
export type State = ReadonlyMap<string, Tensor>;

/** The linear layer from features to logits. */
export interface Head {
  readonly weight: Tensor; // [classes, width]
  readonly bias: Tensor; // [classes]
}

export interface PlainNetwork {
  readonly backbone: State;
  readonly head: Head;
}

/** Why a model is not a network with a linear layer, or undefined if it is. */
export function whyNotPlain({ about: { prediction } }: Model): string | undefined {
  if (prediction.kind !== "plain") return `${prediction.id} predicts in its own way`;
  if (prediction.classifier !== "linear") return "its classifier has three layers";
  return undefined;
}

/** The network and its linear layer, with logits divided by `temperature`. */
export function plainNetwork(model: Model, temperature = 1): PlainNetwork {
  const state = model.network.modules.backbone.stateDict();
  const classifier = model.network.modules.classifier.stateDict();
  return noGrad(() => {
    const map = state.get("map.weight");
    const weight = classifier.get("weight")!;
    const head = {
      weight: (map ? weight.matmul(map) : weight).div(temperature),
      bias: classifier.get("bias")!.div(temperature),
    };
    return { backbone: bodyOf(state), head };
  });
}

/** The published network in a backbone. That of a probe is inside `body`, before its map. */
export function bodyOf(state: State): State {
  if (!state.has("map.weight")) return state;
  const inside = [...state].filter(([name]) => name.startsWith("body."));
  return new Map(inside.map(([name, tensor]) => [name.slice("body.".length), tensor]));
}

/** Adds the counters of PyTorch's batch norms, which evaluation does not read, so that strict loaders find every name. */
export function withCounters(state: State): Map<string, Tensor> {
  const made = new Map(state);
  for (const name of state.keys())
    if (name.endsWith(".running_mean"))
      made.set(name.replace(/running_mean$/, "num_batches_tracked"), zeros([], { dtype: "int64" }));
  return made;
}

/** A pattern of names, and what replaces it. */
export type Rule = readonly [RegExp, (...groups: string[]) => string];

/** Renames every tensor by the first rule that matches. */
export function renamed(state: State, rules: readonly Rule[]): Map<string, Tensor> {
  return new Map(
    Array.from(state, ([name, tensor]) => {
      const rule = rules.find(([pattern]) => pattern.test(name));
      if (!rule) throw new Error(`export: the tensor ${name} has no name in the other program`);
      return [name.replace(rule[0], (_, ...groups: string[]) => rule[1](...groups)), tensor];
    }),
  );
}
