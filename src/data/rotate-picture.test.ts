import { expect, test } from "vitest";
import { pictureRotator } from "./rotate-picture.js";

// PIL 9.4: Image.fromarray(picture).rotate(degrees, resample, fillcolor=0) of a 5 × 7 picture of random bytes.
const picture = Uint8Array.from([
  ...[114, 161, 12, 224, 233, 80, 66, 200, 243, 125, 138, 112, 218, 155, 184, 120, 65, 192],
  ...[197, 88, 34, 207, 3, 188, 238, 165, 171, 211, 88, 70, 148, 134, 28, 115, 134],
]);
const rotated = {
  bilinear: {
    30: [
      ...[0, 0, 225, 200, 179, 138, 0, 156, 60, 138, 134, 154, 89, 146, 175, 211, 104, 192],
      ...[185, 169, 160, 194, 148, 97, 201, 168, 64, 116, 0, 156, 40, 158, 135, 0, 0],
    ],
    75: [
      ...[0, 169, 157, 155, 122, 161, 128, 0, 228, 144, 175, 168, 102, 0, 0, 115, 135, 192],
      ...[218, 87, 0, 0, 116, 129, 100, 189, 140, 0, 127, 188, 178, 64, 78, 115, 0],
    ],
  },
  bicubic: {
    30: [
      ...[0, 0, 255, 196, 198, 149, 0, 156, 38, 127, 112, 157, 61, 148, 196, 216, 89, 192],
      ...[222, 159, 183, 203, 169, 55, 236, 169, 48, 116, 0, 156, 9, 165, 134, 0, 0],
    ],
  },
} as const;

test("pictures are turned as PIL turns them, byte for byte", () => {
  for (const [interpolation, angles] of Object.entries(rotated))
    for (const [degrees, expected] of Object.entries(angles))
      expect(
        Array.from(pictureRotator(5, 7, Number(degrees), interpolation as keyof typeof rotated)(picture)),
        `${interpolation} ${degrees}`,
      ).toEqual(expected);
});

test("a quarter turn is counter-clockwise, and no turn is a copy", () => {
  const arrow = Uint8Array.from([0, 9, 0, 0, 0, 0, 0, 0, 0]); // a point at the top goes to the left
  expect(Array.from(pictureRotator(3, 3, 90, "bilinear")(arrow))).toEqual([0, 0, 0, 9, 0, 0, 0, 0, 0]);
  const copy = pictureRotator(3, 3, 0, "bilinear")(arrow);
  expect(copy).toEqual(arrow);
  expect(copy).not.toBe(arrow);
});
