/** Newton's method with backtracking for a smooth convex function of two nonnegative variables. */

/** Value, gradient and Hessian (11, 12, 22) at a point. */
export interface SecondOrder {
  readonly value: number;
  readonly gradient: readonly [number, number];
  readonly hessian: readonly [number, number, number];
}

/** The result of Newton's method. */
export interface NewtonResult {
  readonly at: readonly [number, number];
  readonly value: number;
  readonly steps: number;
}

const MOST_STEPS = 200;
/** A relative step of this size is rounding error. */
const RELATIVE_STEP = 1e-14;
/**
 * The predicted decrease, relative to the value, below which values are too noisy to compare. Full steps converge there
 * anyway.
 */
const NEAR = 1e-9;
/** The number of full steps there. Each doubles the number of digits, so the third only removes rounding errors. */
const POLISHING_STEPS = 3;

/**
 * Minimizes a convex function over (x, y) with x, y > 0. A variable that starts at 0 and is marked as fixed stays
 * there. The caller ensures that the minimum is in the interior; the bound only keeps the line search where the
 * function is smooth.
 */
export function newton(
  f: (x: number, y: number) => SecondOrder,
  start: readonly [number, number],
  fixed: readonly [boolean, boolean] = [false, false],
): NewtonResult {
  let [x, y] = start;
  let here = f(x, y);
  let steps = 0;
  for (let polishing = 0; polishing < POLISHING_STEPS && steps < MOST_STEPS; steps++) {
    const [dx, dy] = direction(here, fixed);
    const decrease = -(here.gradient[0] * dx + here.gradient[1] * dy);
    const near = decrease <= NEAR * Math.abs(here.value);
    let length = Math.min(1, keepPositive(x, dx), keepPositive(y, dy));
    let next = f(x + length * dx, y + length * dy);
    while (!near && next.value > here.value - 1e-4 * length * decrease && length > 1e-18) {
      length /= 2;
      next = f(x + length * dx, y + length * dy);
    }
    x += length * dx;
    y += length * dy;
    here = next;
    if (near) polishing++;
    if (Math.abs(length * dx) <= RELATIVE_STEP * x && Math.abs(length * dy) <= RELATIVE_STEP * y) break;
  }
  return { at: [x, y], value: here.value, steps };
}

function direction({ gradient, hessian }: SecondOrder, fixed: readonly [boolean, boolean]): [number, number] {
  const [g1, g2] = gradient;
  const [h11, h12, h22] = hessian;
  if (fixed[0] && fixed[1]) return [0, 0];
  if (fixed[0]) return [0, -g2 / h22];
  if (fixed[1]) return [-g1 / h11, 0];
  const determinant = h11 * h22 - h12 * h12;
  return [-(h22 * g1 - h12 * g2) / determinant, -(h11 * g2 - h12 * g1) / determinant];
}

/** Returns the longest step that covers at most nine tenths of the distance to zero. */
function keepPositive(value: number, step: number): number {
  return step < 0 ? (-0.9 * value) / step : 1;
}
