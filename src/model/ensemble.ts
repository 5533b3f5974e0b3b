/**
 * Several models as one: the mean of their logits, which predicts the same class as the sum in EoA (Arpit et al.,
 * NeurIPS 2022, https://arxiv.org/abs/2110.10832; its members are weight averages). Features and distances are those of
 * the first model. Models whose logits have different scales have different weight; runs of one recipe have the same
 * scale.
 */

import { stack } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { dependsOnBatch } from "./about.js";
import { Model } from "./model.js";
import type { Forward } from "./network.js";

/** A model that predicts with several models. It disposes of them. */
export class Ensemble extends Model {
  constructor(private readonly members: readonly Model[]) {
    const [first] = members;
    checkMembers(members);
    // The calibration of a member does not apply to the mean.
    super(first.path, { ...first.about, calibration: null }, first.network, first.distanceStatistics, first.device);
  }

  override get dependsOnBatch(): boolean {
    return this.members.some(({ about }) => dependsOnBatch(about));
  }

  override forward(x: Tensor): Forward {
    return scope(() => {
      const all = this.members.map((member) => member.forward(x));
      return { logits: stack(all.map(({ logits }) => logits)).mean(0), features: all[0].features };
    });
  }

  override async forwardAside(x: Tensor): Promise<Forward> {
    const all: Forward[] = [];
    try {
      for (const member of this.members) all.push(await member.forwardAside(x));
      const logits = scope(() => keep(stack(all.map(({ logits }) => logits)).mean(0)));
      return { logits, features: all[0].features };
    } finally {
      for (const [i, { logits, features }] of all.entries()) {
        logits.dispose();
        if (i > 0) features.dispose();
      }
    }
  }

  override dispose(): void {
    super.dispose(); // the first member's parts
    for (const member of this.members.slice(1)) member.dispose();
  }
}

function checkMembers([first, ...others]: readonly Model[]): void {
  for (const other of others)
    for (const [what, of] of [
      ["classes", ({ about }: Model) => about.classes],
      ["preprocessing", ({ about }: Model) => about.preprocessing],
    ] as const)
      if (JSON.stringify(of(first)) !== JSON.stringify(of(other)))
        throw new UsageError(
          `models ${first.path} and ${other.path} cannot predict together: they differ in their ${what}`,
        );
}
