/** Draws of an update from stored numbers, in the place of random ones: by name, and how often the name was used. */

import type { Draws } from "../../src/algorithms/draws.js";
import type { Tensor } from "../../src/engine/tensor.js";

/** Draws that also know whether all the stored numbers were asked for. */
export interface StoredDraws extends Draws {
  /** Names and uses that were stored and not drawn. */
  unused(): string[];
}

/** Draws from tensors stored as `<prefix><name>/<use>`; one that is not stored is an error. */
export function storedDraws(stored: ReadonlyMap<string, Tensor>, prefix: string): StoredDraws {
  const uses = new Map<string, number>();
  const next = (name: string, shape: readonly number[]): Tensor => {
    const use = uses.get(name) ?? 0;
    uses.set(name, use + 1);
    const value = stored.get(`${prefix}${name}/${use}`);
    if (!value) throw new Error(`no draw is stored as ${prefix}${name}/${use}`);
    if (`${value.shape}` !== `${shape}`) {
      throw new Error(`${prefix}${name}/${use}: a draw of [${shape}] was asked for, ${value.describe()} is stored`);
    }
    return value;
  };
  return {
    permutation: (name, n) => next(name, [n]).toNumbers(),
    beta: (name) => next(name, []).item(),
    uniform: (name) => next(name, []).item(),
    order: (name, n, { device }) => next(name, [n]).to({ dtype: "int64", device }),
    betaLike: (name, _a, _b, { dtype, device }) => next(name, []).to({ dtype, device }),
    integerLike: (name, _n, { device }) => next(name, []).to({ dtype: "int64", device }),
    normalLike: (name, like) => next(name, like.shape).to({ dtype: like.dtype, device: like.device }),
    uniformLike: (name, shape, like) => next(name, shape).to({ dtype: like.dtype, device: like.device }),
    unused: () =>
      [...stored.keys()].filter((key) => {
        if (!key.startsWith(prefix)) return false;
        const [name, use] = key.slice(prefix.length).split("/");
        return Number(use) >= (uses.get(name) ?? 0);
      }),
  };
}
