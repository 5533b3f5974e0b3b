import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { paddedRows } from "./padded-rows.js";

test("a batch is padded with zeros up to a number of rows", () => {
  scope(() => {
    const x = tensor([[1], [2], [3]]);
    expect(paddedRows(x, 4).toArray()).toEqual([[1], [2], [3], [0]]);
    expect(paddedRows(x, 3)).toBe(x);
    expect(paddedRows(x, 2)).toBe(x);
  });
});

test("padding keeps the channels last in memory", () => {
  scope(() => {
    const x = tensor(new Float32Array(3 * 2 * 4 * 4).fill(1), { shape: [3, 2, 4, 4] });
    expect(paddedRows(x.to({ memoryFormat: "channels_last" }), 5).isChannelsLast).toBe(true);
    expect(paddedRows(x, 5).isChannelsLast).toBe(false);
  });
});
