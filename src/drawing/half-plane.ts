/** The part of a rectangle on one side of a straight boundary. */

/** A line a·x + b·y + c = 0. */
export interface Boundary {
  a: number;
  b: number;
  c: number;
}

export interface Point {
  x: number;
  y: number;
}

/** A rectangle with its sides along the axes. */
export interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

/** The part of the box where a·x + b·y + c > 0, as a polygon (Sutherland and Hodgman). */
export function clipToHalfPlane(box: Box, plane: Boundary): Point[] {
  const corners = [
    { x: box.x0, y: box.y0 },
    { x: box.x1, y: box.y0 },
    { x: box.x1, y: box.y1 },
    { x: box.x0, y: box.y1 },
  ];
  const side = (p: Point) => plane.a * p.x + plane.b * p.y + plane.c;
  const kept: Point[] = [];
  corners.forEach((from, i) => {
    const to = corners[(i + 1) % 4];
    const [s, t] = [side(from), side(to)];
    if (s > 0) kept.push(from);
    if (s > 0 !== t > 0)
      kept.push({ x: from.x + ((to.x - from.x) * s) / (s - t), y: from.y + ((to.y - from.y) * s) / (s - t) });
  });
  return kept;
}

/** The points at which the line enters and leaves the box; undefined if it does not cross the box. */
export function lineInBox(box: Box, boundary: Boundary): [Point, Point] | undefined {
  const kept = clipToHalfPlane(box, boundary);
  const size = Math.abs(boundary.a) * (box.x1 - box.x0) + Math.abs(boundary.b) * (box.y1 - box.y0);
  const onLine = kept.filter((p) => Math.abs(boundary.a * p.x + boundary.b * p.y + boundary.c) <= 1e-9 * size);
  return onLine.length >= 2 ? [onLine[0], onLine[onLine.length - 1]] : undefined;
}
