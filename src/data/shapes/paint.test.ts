import { expect, test } from "vitest";
import type { Colour } from "./colour.js";
import { shapes } from "./distance.js";
import { paint } from "./paint.js";
import type { Scene } from "./scene.js";

const white: Colour = [1, 1, 1];
const black: Colour = [0, 0, 0];
const layout = { pattern: 0, period: 0.2, startX: 0, startY: 0 };
const plain: Scene = {
  x: 0.47,
  y: 0.52,
  radius: 0.4,
  cos: 0.96,
  sin: 0.28,
  ink: black,
  secondInk: white,
  texture: layout,
  paper: white,
  secondPaper: white,
  wallpaper: layout,
};

/** The black area of a picture in black and white, as a fraction of the whole. */
function blackArea(pixels: Uint8Array): number {
  return 1 - pixels.reduce((sum, value) => sum + value, 0) / (255 * pixels.length);
}

function painted(shape: keyof typeof shapes, mark: "fill" | "outline" | "texture", size: number, scene = plain) {
  const pixels = new Uint8Array(3 * size * size);
  paint(scene, shapes[shape], mark, size, pixels);
  return pixels;
}

const sin36 = Math.sin(Math.PI / 5);
/** The area that two discs share, whose middles are `offset` apart. */
function lens(r: number, s: number, offset: number): number {
  const x = (offset ** 2 + r ** 2 - s ** 2) / (2 * offset); // the chord's distance from the first middle
  const segment = (radius: number, away: number) =>
    radius ** 2 * Math.acos(away / radius) - away * Math.sqrt(radius ** 2 - away ** 2);
  return segment(r, x) + segment(s, offset - x);
}

const areas: [keyof typeof shapes, number][] = [
  ["circle", Math.PI * 0.82 ** 2],
  ["square", 1.4 ** 2],
  ["triangle", (3 * Math.sqrt(3)) / 4],
  ["star", 5 * 0.44 * sin36],
  ["cross", 4 * 0.94 * 0.62 - 0.62 ** 2],
  ["ring", Math.PI * (0.92 ** 2 - 0.5 ** 2)],
  ["crescent", Math.PI * 0.97 ** 2 - lens(0.97, 0.74, 0.5)],
];

test.each(areas)("a filled %s covers its area, at any size", (shape, area) => {
  for (const [size, tolerance] of [
    [24, 0.015],
    [100, 0.005],
  ])
    expect(Math.abs(blackArea(painted(shape, "fill", size)) / (area * 0.4 ** 2) - 1)).toBeLessThan(tolerance);
});

test("an outlined circle covers its edge times the width of the line", () => {
  const expected = 2 * Math.PI * 0.82 * 0.4 * 0.055;
  expect(Math.abs(blackArea(painted("circle", "outline", 100)) / expected - 1)).toBeLessThan(0.005);
});

test("a shape textured with bars shows its first ink on half of its area", () => {
  const half = blackArea(painted("square", "texture", 200)) / blackArea(painted("square", "fill", 200));
  expect(Math.abs(half - 0.5)).toBeLessThan(0.1); // not a whole number of bars
});

test("edges are smooth: a half-covered pixel is half black", () => {
  // A square of half-side 0.7·0.5·20 = 7 around (10, 10.5): it begins at 3 from the left, and at 3.5 from the top.
  const scene = { ...plain, x: 0.5, y: 10.5 / 20, radius: 0.5, cos: 1, sin: 0 };
  const pixels = painted("square", "fill", 20, scene);
  const grey = (column: number, row: number) => pixels[3 * (20 * row + column)];
  expect([grey(2, 10), grey(3, 10), grey(16, 10), grey(17, 10)]).toEqual([255, 0, 0, 255]);
  expect([grey(10, 2), grey(10, 3), grey(10, 4)]).toEqual([255, 128, 0]);
});

test("a positive turn is anticlockwise", () => {
  // A triangle's corner, straight up before, now lies to the left of that, and not to the right.
  const scene = { ...plain, x: 0.5, y: 0.5, cos: 0.8, sin: 0.6 };
  const pixels = painted("triangle", "fill", 100, scene);
  const grey = (x: number, y: number) => pixels[3 * (100 * y + x)];
  expect([grey(29, 22), grey(71, 22)]).toEqual([0, 255]);
});
