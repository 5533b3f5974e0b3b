/**
 * Which pictures of a new site to label. A random half measures the accuracy without bias; the other half are pictures
 * that the model is uncertain about and that differ from each other and from those chosen before: one after the other, the
 * picture with the largest (1 − margin of its two best probabilities) × distance to the nearest chosen one.
 */

import { softmax } from "../analysis/judged.js";
import { keyedRandom } from "../engine/philox.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { unitRows } from "../nn/probe-and-neighbours.js";

export type PickReason = "random" | "uncertain";

export interface Pick {
  readonly place: number;
  readonly why: PickReason;
}

/** The difference between the two largest probabilities. */
function marginOf(logits: readonly number[]): number {
  const [first = 0, second = 0] = Array.from(softmax(logits)).sort((a, b) => b - a);
  return first - second;
}

/** Chooses pictures. `features` has a row for each. */
export function pickPictures(
  features: Tensor,
  logits: readonly (readonly number[])[],
  count: number,
  { seed = 0, random = Math.ceil(count / 2) }: { seed?: number; random?: number } = {},
): Pick[] {
  const order = keyedRandom(seed, "pictures to label").permutation(logits.length);
  const picks: Pick[] = Array.from(order.slice(0, Math.min(random, count)), (place) => ({ place, why: "random" }));
  return noGrad(() =>
    scope(() => {
      const rows = unitRows(features.toDType("float32"));
      const taken = new Set(picks.map(({ place }) => place));
      const nearest = new Float64Array(logits.length).fill(picks.length > 0 ? 2 : 1);
      const approach = (place: number): void =>
        scope(() => {
          const cosines = rows
            .matmul(rows.narrow(0, place, 1).t())
            .squeeze(1)
            .toNumbers();
          for (const [i, cosine] of cosines.entries()) nearest[i] = Math.min(nearest[i], 1 - cosine);
        });
      for (const { place } of picks) approach(place);
      const doubt = logits.map((row) => 1 - marginOf(row));
      while (picks.length < Math.min(count, logits.length)) {
        let best = -1;
        for (let i = 0; i < logits.length; i++)
          if (!taken.has(i) && (best < 0 || doubt[i] * nearest[i] > doubt[best] * nearest[best])) best = i;
        picks.push({ place: best, why: "uncertain" });
        taken.add(best);
        approach(best);
      }
      return picks;
    }),
  );
}
