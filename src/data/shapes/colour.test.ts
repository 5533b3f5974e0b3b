import { expect, test } from "vitest";
import { colourOf, lightness } from "./colour.js";

test("a colour has the lightness asked for and stays in range, whatever its hue and strength", () => {
  for (let hue = 0; hue < 1; hue += 0.01) {
    for (const light of [0.1, 0.5, 0.9]) {
      for (const strength of [0, 0.6, 1]) {
        const colour = colourOf(hue, strength, light);
        expect(lightness(colour)).toBeCloseTo(light, 12);
        for (const channel of colour) {
          expect(channel).toBeGreaterThanOrEqual(0);
          expect(channel).toBeLessThanOrEqual(1);
        }
      }
    }
  }
});

test("at full strength a pure red, green or blue of its own lightness comes back", () => {
  const near = (colour: readonly number[], expected: number[]) =>
    colour.forEach((channel, i) => {
      expect(channel).toBeCloseTo(expected[i], 12);
    });
  near(colourOf(0, 1, 0.299), [1, 0, 0]);
  near(colourOf(1 / 3, 1, 0.587), [0, 1, 0]);
  near(colourOf(2 / 3, 1, 0.114), [0, 0, 1]);
  near(colourOf(1 / 6, 1, 0.886), [1, 1, 0]);
});

test("hues repeat after a whole turn, and strength zero is grey", () => {
  expect(colourOf(1.25, 0.5, 0.5)).toEqual(colourOf(0.25, 0.5, 0.5));
  expect(colourOf(-0.75, 0.5, 0.5)).toEqual(colourOf(0.25, 0.5, 0.5));
  expect(colourOf(0.4, 0, 0.3)).toEqual([0.3, 0.3, 0.3]);
});
