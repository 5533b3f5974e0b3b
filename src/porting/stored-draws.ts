/**
 * Draws of an update from stored numbers instead of random ones: by name and use count, or, if nothing is stored under
 * the name, the next ones of their kind in order.
 */

import type { Draws } from "../algorithms/draws.js";
import { arange } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";

/** Draws that also record whether all stored numbers were used. */
export interface StoredDraws extends Draws {
  /** Stored names and uses that were not drawn. */
  unused(): string[];
}

/** The name for draws of a recorder that does not know their names. */
type Kind = "permutation" | "beta" | "uniform" | "integer" | "normal";

/** A permutation of one item or none, for which some programs ask a generator and others do not. */
const isNoDraw = (name: string, value: Tensor | undefined): boolean =>
  name === "permutation" && (value?.numel ?? 2) < 2;

/** Draws from tensors stored as `<prefix><name>/<use>` or `<prefix><kind>/<use>`. A missing one is an error. */
export function storedDraws(stored: ReadonlyMap<string, Tensor>, prefix: string): StoredDraws {
  const uses = new Map<string, number>();
  const take = (name: string): Tensor | undefined => {
    let use = uses.get(name) ?? 0;
    while (isNoDraw(name, stored.get(`${prefix}${name}/${use}`))) use++;
    const value = stored.get(`${prefix}${name}/${use}`);
    if (value) uses.set(name, use + 1);
    return value;
  };
  const next = (kind: Kind, name: string, shape: readonly number[]): Tensor => {
    const value = take(name) ?? take(kind);
    if (!value)
      throw new UsageError(`the draw "${name}" of an update is not stored: expected ${prefix}${name}/0, or ${kind}`);
    if (`${value.shape}` !== `${shape}`) {
      throw new UsageError(
        `the draw "${name}" of an update has shape [${shape.join(", ")}]; ${value.describe()} is stored under ${prefix}`,
      );
    }
    return value;
  };
  /** Whether nothing has to be drawn. A recorder that knows the names can have stored it. */
  const isOne = (name: string, n: number): boolean => {
    if (n < 2) take(name);
    return n < 2;
  };
  const like = (value: Tensor, { dtype, device }: Tensor): Tensor => value.to({ dtype, device });
  return {
    permutation: (name, n) => (isOne(name, n) ? [...Array(n).keys()] : next("permutation", name, [n]).toNumbers()),
    beta: (name) => next("beta", name, []).item(),
    uniform: (name) => next("uniform", name, []).item(),
    order: (name, n, { device }) =>
      isOne(name, n)
        ? arange(0, n, 1, { device, dtype: "int64" })
        : next("permutation", name, [n]).to({ dtype: "int64", device }),
    betaLike: (name, _a, _b, other) => like(next("beta", name, []), other),
    integerLike: (name, _n, { device }) => next("integer", name, []).to({ dtype: "int64", device }),
    normalLike: (name, other) => like(next("normal", name, other.shape), other),
    uniformLike: (name, shape, other) => like(next("uniform", name, shape), other),
    unused: () =>
      Array.from(stored, ([key, value]) => ({ key, value })).flatMap(({ key, value }) => {
        if (!key.startsWith(prefix)) return [];
        const [name, use] = key.slice(prefix.length).split("/");
        return Number(use) < (uses.get(name) ?? 0) || isNoDraw(name, value) ? [] : [key];
      }),
  };
}
