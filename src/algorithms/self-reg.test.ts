import { expect, test } from "vitest";
import { Random } from "../engine/random.js";
import { keyedDraws } from "./draws.js";
import { partners } from "./self-reg.js";

test("partners are of the sample's own class, and every sample is a partner once in each order", () => {
  const labels = [2, 0, 2, 1, 0, 2, 5, 0, 2, 2];
  const [first, second] = partners(labels, keyedDraws(new Random(3)));
  for (const order of [first, second]) {
    expect(order.map((i) => labels[i])).toEqual(labels);
    expect(order.toSorted((a, b) => a - b)).toEqual([...labels.keys()]);
  }
  expect(first).not.toEqual(second);
});
