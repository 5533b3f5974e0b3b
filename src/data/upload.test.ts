import { expect, test } from "vitest";
import { empty } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { copyAhead } from "./upload.js";

test("copies of pictures wait for the device after each gigabyte", () => {
  let waits = 0;
  const copied = (bytes: number): number =>
    scope(() => {
      copyAhead(empty([bytes], { dtype: "uint8" }), "cpu", () => waits++);
      return waits;
    });
  const quarter = 2 ** 28;
  expect([quarter, quarter, quarter, quarter, 1, quarter, quarter, quarter, quarter].map(copied)).toEqual([
    ...[0, 0, 0, 0], // a gigabyte
    ...[1, 1, 1, 1], // a byte and three quarters
    2,
  ]);
});
