import { expect, test } from "vitest";
import { keyedRandom } from "../../engine/philox.js";
import { type SignedDistance, shapes } from "./distance.js";

type Point = [x: number, y: number];

/** Points at an angle clockwise from straight up. */
function polar(radius: number, degrees: number): Point {
  const angle = (degrees * Math.PI) / 180;
  return [radius * Math.sin(angle), radius * Math.cos(angle)];
}

/** The signed distance to a polygon by looking at every edge: the nearest one, and how many a ray to the right crosses. */
function toPolygon(corners: Point[]): SignedDistance {
  return (x, y) => {
    let nearest = Number.POSITIVE_INFINITY;
    let inside = false;
    corners.forEach(([ax, ay], i) => {
      const [bx, by] = corners[(i + 1) % corners.length];
      const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2);
      const t = Math.min(Math.max(along, 0), 1);
      nearest = Math.min(nearest, Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)));
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside;
    });
    return inside ? -nearest : nearest;
  };
}

/** A circle, or the part of it between two angles, as corners of a polygon. */
function arc(middle: number, radius: number, from: number, to: number, pieces = 4000): Point[] {
  return Array.from({ length: pieces }, (_, i) => {
    const [x, y] = polar(radius, from + ((to - from) * i) / pieces);
    return [middle + x, y];
  });
}

function crescentCorners(): Point[] {
  const hornX = (0.97 ** 2 + 0.5 ** 2 - 0.74 ** 2) / (2 * 0.5);
  const hornY = Math.sqrt(0.97 ** 2 - hornX ** 2);
  const outer = (Math.atan2(hornX, hornY) * 180) / Math.PI; // from straight up to the upper horn
  const inner = (Math.atan2(hornX - 0.5, hornY) * 180) / Math.PI;
  return [...arc(0, 0.97, outer, -180 - outer), ...arc(0.5, 0.74, -180 - inner, inner)];
}

const expected: Record<keyof typeof shapes, SignedDistance> = {
  circle: toPolygon(arc(0, 0.82, 0, 360)),
  square: toPolygon([
    [0.7, 0.7],
    [0.7, -0.7],
    [-0.7, -0.7],
    [-0.7, 0.7],
  ]),
  triangle: toPolygon([0, 120, 240].map((degrees) => polar(1, degrees))),
  star: toPolygon(Array.from({ length: 10 }, (_, i) => polar(i % 2 ? 0.44 : 1, 36 * i))),
  cross: toPolygon([
    [0.31, 0.94],
    [0.31, 0.31],
    [0.94, 0.31],
    [0.94, -0.31],
    [0.31, -0.31],
    [0.31, -0.94],
    [-0.31, -0.94],
    [-0.31, -0.31],
    [-0.94, -0.31],
    [-0.94, 0.31],
    [-0.31, 0.31],
    [-0.31, 0.94],
  ]),
  // Inside the outer circle and outside the inner one.
  ring: (x, y) => Math.max(Math.hypot(x, y) - 0.92, 0.5 - Math.hypot(x, y)),
  crescent: toPolygon(crescentCorners()),
};

test.each(Object.keys(shapes) as (keyof typeof shapes)[])(
  "the distance to the %s is that of a search over all its edges",
  (name) => {
    // The arcs are chords of a circle in 4000 pieces: off by at most r(1 − cos(π/4000)), 3e-7.
    const tolerance = 1e-6;
    const random = keyedRandom(1, "points", name);
    for (let i = 0; i < 200; i++) {
      const x = random.uniform(-1.4, 1.4);
      const y = random.uniform(-1.4, 1.4);
      expect(Math.abs(shapes[name](x, y) - expected[name](x, y)), `at ${x}, ${y}`).toBeLessThan(tolerance);
    }
  },
);

test("no shape reaches farther than 1 from its middle", () => {
  for (const [name, distance] of Object.entries(shapes)) {
    for (let degrees = 0; degrees < 360; degrees++) {
      const [x, y] = polar(1 + 1e-9, degrees);
      expect(distance(x, y), `${name} at ${degrees}°`).toBeGreaterThan(0);
    }
  }
});
