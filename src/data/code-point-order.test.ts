import { expect, test } from "vitest";
import { byCodePoint } from "./code-point-order.js";

test("names are in Python's order, in which emoji come after all letters", () => {
  // sorted(["😀", "ﬁ", "b", "B", "é", "a10", "a2", "", "_", "豈"]) of Python 3
  const names = ["😀", "ﬁ", "b", "B", "é", "a10", "a2", "", "_", "豈"];
  expect(names.toSorted(byCodePoint)).toEqual(["", "B", "_", "a10", "a2", "b", "é", "豈", "ﬁ", "😀"]);
  expect(names.toSorted()).not.toEqual(names.toSorted(byCodePoint)); // JavaScript's own order is another
});

test("the order agrees with that of the UTF-8 bytes", () => {
  const points = [0x24, 0xa2, 0xd7ff, 0xe000, 0xfffd, 0x10000, 0x10348, 0x10ffff];
  const names = points.flatMap((a) => points.map((b) => String.fromCodePoint(a, b)));
  for (const a of names)
    for (const b of names) expect(Math.sign(byCodePoint(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
});
