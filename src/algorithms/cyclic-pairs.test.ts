import { expect, test } from "vitest";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import type { Batch } from "./algorithm.js";
import { cyclicPairs, inRandomOrder } from "./cyclic-pairs.js";
import { keyedDraws } from "./draws.js";

test("each item is first once and second once, in the order given", () => {
  expect(cyclicPairs(["c", "a", "b"])).toEqual([["c", "a"], ["a", "b"], ["b", "c"]]); // biome-ignore format: pairs
  expect(cyclicPairs(["a"])).toEqual([["a", "a"]]);
});

/** Creates a batch with these numbers of rows per domain. The value of a row is its index in the batch. */
function batchOf(rows: readonly number[]): Batch {
  const x = tensor(
    Array.from({ length: rows.reduce((sum, each) => sum + each) }, (_, i) => [i]),
    { dtype: "float32" },
  );
  const y = x.view(-1).toDType("int64");
  let start = 0;
  const domains = rows.map((count) => {
    start += count;
    return { x: x.narrow(0, start - count, count), y: y.narrow(0, start - count, count) };
  });
  return { domains, x, y };
}

test("domains of equal and of different sizes come in the same random order", () => {
  scope(() => {
    for (let seed = 0; seed < 5; seed++) {
      const order = keyedDraws(new Random(seed)).permutation("pairs", 3);
      for (const rows of [
        [2, 2, 2],
        [1, 2, 3],
      ]) {
        const batch = batchOf(rows);
        const mixed = inRandomOrder(batch, keyedDraws(new Random(seed)));
        expect(mixed.map(({ x }) => x.toArray())).toEqual(order.map((i) => batch.domains[i].x.toArray()));
        expect(mixed.map(({ y }) => y.toArray())).toEqual(order.map((i) => batch.domains[i].y.toArray()));
      }
    }
  });
});

test("domains in random order keep their channels last in memory", () => {
  scope(() => {
    const x = tensor(new Float32Array(4 * 3 * 2 * 2), { shape: [4, 3, 2, 2] }).to({ memoryFormat: "channels_last" });
    const y = tensor([0, 1, 0, 1], { dtype: "int64" });
    const domains = [0, 2].map((start) => ({ x: x.narrow(0, start, 2), y: y.narrow(0, start, 2) }));
    for (const each of inRandomOrder({ domains, x, y }, keyedDraws(new Random(0))))
      expect(each.x.isChannelsLast).toBe(true);
  });
});
