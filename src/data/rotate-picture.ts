/**
 * Rotates a gray 8-bit picture about its center: counterclockwise, with the same size, and black (0) outside. The
 * arithmetic is PIL's, so the pictures equal those of the reference testbed bit for bit.
 *
 * The center of each target pixel is rotated back into the source. Outside the source it is black; otherwise bilinear
 * interpolation of the four nearest pixels, or bicubic (convolution with a = −1) of sixteen, with edge pixels repeated,
 * then truncated to a byte.
 */

export type Interpolation = "bilinear" | "bicubic";

const radians = Math.PI / 180;

/** PIL rounds sine and cosine to 15 decimals, which also hides differences between JavaScript engines. */
const rounded = (value: number): number => Number(value.toFixed(15));

const clamp = (value: number, most: number): number => Math.max(0, Math.min(value, most));

/** Cubic convolution of four values at −1, 0, 1, 2, at `t` between 0 and 1. */
function cubic(a: number, b: number, c: number, d: number, t: number): number {
  return b + t * (-a + c + t * (2 * (a - b) + c - d + t * (-a + b - c + d)));
}

/** Rotates pictures of one size by one angle. Values that depend only on these are computed once. */
export function pictureRotator(
  height: number,
  width: number,
  degrees: number,
  interpolation: Interpolation,
): (picture: Uint8Array) => Uint8Array {
  if (degrees === 0) return (picture) => Uint8Array.from(picture);
  const cos = rounded(Math.cos(degrees * radians));
  const sin = rounded(Math.sin(degrees * radians));
  // The center stays fixed. The order of operations is PIL's, because a rounding error can move a point across the edge
  // of a pixel.
  const shiftX = cos * (-width / 2) + -sin * (-height / 2) + width / 2;
  const shiftY = sin * (-width / 2) + cos * (-height / 2) + height / 2;
  const sourceX = new Float64Array(height * width);
  const sourceY = new Float64Array(height * width);
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      sourceX[i] = cos * (x + 0.5) + -sin * (y + 0.5) + shiftX;
      sourceY[i] = sin * (x + 0.5) + cos * (y + 0.5) + shiftY;
    }

  const at = interpolation === "bilinear" ? bilinear : bicubic;
  return (picture) =>
    Uint8Array.from(sourceX, (x, i) => {
      const y = sourceY[i];
      if (!(x >= 0 && x < width && y >= 0 && y < height)) return 0;
      return clamp(Math.trunc(at(picture, x - 0.5, y - 0.5)), 255);
    });

  function bilinear(picture: Uint8Array, x: number, y: number): number {
    const left = Math.floor(x);
    const top = Math.floor(y);
    const row = (at: number): number => {
      const begin = clamp(at, height - 1) * width;
      const a = picture[begin + clamp(left, width - 1)];
      const b = picture[begin + clamp(left + 1, width - 1)];
      return a + (b - a) * (x - left);
    };
    const upper = row(top);
    return upper + (row(top + 1) - upper) * (y - top);
  }

  function bicubic(picture: Uint8Array, x: number, y: number): number {
    const left = Math.floor(x);
    const top = Math.floor(y);
    const row = (at: number): number => {
      const begin = clamp(at, height - 1) * width;
      const pixel = (place: number): number => picture[begin + clamp(place, width - 1)];
      return cubic(pixel(left - 1), pixel(left), pixel(left + 1), pixel(left + 2), x - left);
    };
    return cubic(row(top - 1), row(top), row(top + 1), row(top + 2), y - top);
  }
}
