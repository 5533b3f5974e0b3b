/** Random pairs of training domains, as in DomainBed: each domain is first in one pair and second in another. */

import { arange } from "../engine/ops.generated.js";
import type { Batch, Minibatch } from "./algorithm.js";
import type { Draws } from "./draws.js";

/** Returns the pairs (a, b), (b, c), …, (z, a) of some items. A single item is paired with itself. */
export function cyclicPairs<T>(items: readonly T[]): [T, T][] {
  return items.map((first, i) => [first, items[(i + 1) % items.length]]);
}

/**
 * Returns the domains of a batch in a random order, from the draw "pairs". If all domains have the same number of rows,
 * the order is a tensor, so that a step that uses it can be captured.
 */
export function inRandomOrder({ domains, x, y }: Batch, draw: Draws): Minibatch[] {
  const count = domains[0].x.rows;
  if (domains.some((domain) => domain.x.rows !== count))
    return draw.permutation("pairs", domains.length).map((i) => domains[i]);
  const places = arange(0, count, 1, { dtype: "int64", device: x.device });
  const starts = draw.order("pairs", domains.length, x).mul(count);
  const memoryFormat = x.isChannelsLast ? "channels_last" : undefined; // indexing rows does not keep it
  return domains.map((_, i) => {
    const rows = places.add(starts.narrow(0, i, 1));
    return { x: x.take(rows).to({ memoryFormat }), y: y.take(rows) };
  });
}
