import { expect, test } from "vitest";
import { type Pattern, sharpen, wallpapers, wave } from "./pattern.js";

/** Two periods of a pattern in 40 × 40 samples. */
function sample(pattern: Pattern): number[] {
  const period = 20;
  return Array.from({ length: 1600 }, (_, i) => {
    const across = wave(((i % 40) + 0.5) / period);
    const position = (Math.floor(i / 40) + 0.5) / period;
    return sharpen(pattern(across, wave(position), position), period);
  });
}

test("the wave falls from 1 to 0 and rises again in each period", () => {
  expect([0, 0.25, 0.5, 0.75, 1, -0.25].map(wave)).toEqual([1, 0.5, 0, 0.5, 1, 0.5]);
});

test("a border between two colours is one pixel wide", () => {
  const period = 20;
  const edge = (pixels: number) => sharpen(wave(0.25 + pixels / period), period); // the wave is ½ at a quarter
  expect(edge(0)).toBe(0.5);
  expect(edge(-0.25)).toBeCloseTo(0.75, 12);
  expect(edge(-0.5)).toBeCloseTo(1, 12);
  expect(edge(0.5)).toBeCloseTo(0, 12);
  expect(edge(3)).toBe(0);
});

test("no two of the seven wallpapers look alike: they differ on a fifth of the area or more", () => {
  const all = wallpapers.map(sample);
  expect(all).toHaveLength(7);
  for (let a = 0; a < 7; a++) {
    for (let b = 0; b < a; b++) {
      const differ = all[a].reduce((sum, value, i) => sum + Math.abs(value - all[b][i]), 0) / 1600;
      expect(differ, `wallpapers ${a} and ${b}`).toBeGreaterThan(0.2);
    }
  }
});

test("every wallpaper is its own mirror image, so a flip leaves the cue", () => {
  for (const pattern of wallpapers) {
    const image = sample(pattern);
    const flipped = image.map((_, i) => image[i - (i % 40) + (39 - (i % 40))]);
    for (let i = 0; i < 1600; i++) expect(flipped[i]).toBeCloseTo(image[i], 9);
  }
});
