/**
 * The seven shapes, each as the signed distance to its edge: negative inside, positive outside.
 *
 * A distance is used instead of a mask, because each style needs it differently: a filled shape is where it is
 * negative, an outline is where it is near zero, and both have smooth edges if the coverage of a pixel follows the
 * distance of its center. Shapes are centered at the origin, with y up and a radius of at most 1; their sizes are
 * chosen so that areas differ less than with equal radii.
 *
 * A point is first mirrored into one wedge of the shape's symmetries. The nearest edge of a mirror-symmetric shape is
 * on the same side of the mirror as the point, so only one or two edges remain. Only +, −, ×, / and √ are used, which
 * IEEE 754 defines exactly, and the angles of the star and the triangle come from square roots.
 */

/** The signed distance from a point to a shape's edge. */
export type SignedDistance = (x: number, y: number) => number;

function disc(radius: number): SignedDistance {
  return (x, y) => Math.sqrt(x * x + y * y) - radius;
}

function ring(outer: number, inner: number): SignedDistance {
  const middle = (outer + inner) / 2;
  const halfWidth = (outer - inner) / 2;
  return (x, y) => Math.abs(Math.sqrt(x * x + y * y) - middle) - halfWidth;
}

function square(half: number): SignedDistance {
  return (x, y) => {
    const beyondX = Math.abs(x) - half;
    const beyondY = Math.abs(y) - half;
    if (beyondX > 0 && beyondY > 0) return Math.sqrt(beyondX * beyondX + beyondY * beyondY);
    return Math.max(beyondX, beyondY);
  };
}

/** Two bars of half-width `half` and length `reach` from the center. */
function cross(reach: number, half: number): SignedDistance {
  return (x, y) => {
    const a = Math.abs(x);
    const b = Math.abs(y);
    const along = Math.max(a, b);
    const aside = Math.min(a, b);
    // The end of the bar is the segment (reach, 0…half), its side the segment (half…reach, half).
    const endX = along - reach;
    const endY = Math.max(aside - half, 0);
    const sideX = along > reach ? along - reach : Math.min(along - half, 0);
    const sideY = aside - half;
    const nearest = Math.sqrt(Math.min(endX * endX + endY * endY, sideX * sideX + sideY * sideY));
    return along < reach && aside < half ? -nearest : nearest;
  };
}

/** The signed distance to the segment from (0, tip) to (notchX, notchY), for points in its wedge. */
function wedgeEdge(tip: number, notchX: number, notchY: number): SignedDistance {
  const dx = notchX;
  const dy = notchY - tip;
  const perSquare = 1 / (dx * dx + dy * dy);
  return (x, y) => {
    const fromTip = y - tip;
    const along = Math.min(Math.max((x * dx + fromTip * dy) * perSquare, 0), 1);
    const offX = x - along * dx;
    const offY = fromTip - along * dy;
    const nearest = Math.sqrt(offX * offX + offY * offY);
    return x * dy - fromTip * dx > 0 ? -nearest : nearest;
  };
}

/** An equilateral triangle with a corner at the top, `radius` from the center. */
function triangle(radius: number): SignedDistance {
  const cos60 = 0.5;
  const sin60 = Math.sqrt(3) / 2;
  const edge = wedgeEdge(radius, (radius / 2) * sin60, (radius / 2) * cos60);
  return (x, y) => {
    let a = Math.abs(x);
    const past60 = a * cos60 - y * sin60; // the distance past the mirror at 60° from the corner
    if (past60 <= 0) return edge(a, y);
    a -= 2 * past60 * cos60;
    return edge(Math.abs(a), y + 2 * past60 * sin60);
  };
}

/** A five-pointed star with a tip at the top; tips are `tip` and notches `notch` from the center. */
function star(tip: number, notch: number): SignedDistance {
  const cos36 = (1 + Math.sqrt(5)) / 4;
  const sin36 = Math.sqrt(1 - cos36 * cos36);
  const cos108 = (1 - Math.sqrt(5)) / 4;
  const sin108 = Math.sqrt(1 - cos108 * cos108);
  const edge = wedgeEdge(tip, notch * sin36, notch * cos36);
  return (x, y) => {
    let a = Math.abs(x);
    let b = y;
    const past108 = a * cos108 - b * sin108;
    if (past108 > 0) {
      a -= 2 * past108 * cos108;
      b += 2 * past108 * sin108;
    }
    const past36 = a * cos36 - b * sin36;
    if (past36 > 0) {
      a -= 2 * past36 * cos36;
      b += 2 * past36 * sin36;
    }
    return edge(Math.abs(a), b);
  };
}

/** A disc without another disc, whose center is `offset` to the right. */
function crescent(radius: number, bite: number, offset: number): SignedDistance {
  const hornX = (radius * radius + offset * offset - bite * bite) / (2 * offset); // the two circles cross here
  const hornY = Math.sqrt(radius * radius - hornX * hornX);
  return (x, y) => {
    const up = Math.abs(y) - hornY;
    const right = x - hornX;
    let nearest = Math.sqrt(right * right + up * up);
    const fromDisc = Math.sqrt(x * x + y * y);
    const fromBite = Math.sqrt((x - offset) * (x - offset) + y * y);
    // The nearest point of a circle counts if it is on the edge of the crescent: left of the horns, for both circles.
    if (x * radius <= hornX * fromDisc) nearest = Math.min(nearest, Math.abs(fromDisc - radius));
    if ((x - offset) * bite <= (hornX - offset) * fromBite) nearest = Math.min(nearest, Math.abs(fromBite - bite));
    return fromDisc < radius && fromBite > bite ? -nearest : nearest;
  };
}

/** The shapes by name; the order is the order of the labels. */
export const shapes = {
  circle: disc(0.82),
  square: square(0.7),
  triangle: triangle(1),
  star: star(1, 0.44),
  cross: cross(0.94, 0.31),
  ring: ring(0.92, 0.5),
  crescent: crescent(0.97, 0.74, 0.5),
} satisfies Record<string, SignedDistance>;
