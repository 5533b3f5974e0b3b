/** The operations on complex numbers that the contour integrals in this folder need. */

/** A complex number. */
export interface Complex {
  readonly re: number;
  readonly im: number;
}

/** The complex number `re + i·im`. */
export function complex(re: number, im = 0): Complex {
  return { re, im };
}

/** `a + b`. */
export function add(a: Complex, b: Complex): Complex {
  return { re: a.re + b.re, im: a.im + b.im };
}

/** `a · b`. */
export function multiply(a: Complex, b: Complex): Complex {
  return { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re };
}

/** `a · s` for a real `s`. */
export function scale(a: Complex, s: number): Complex {
  return { re: a.re * s, im: a.im * s };
}

/** `a / b`. */
export function divide(a: Complex, b: Complex): Complex {
  const norm = b.re * b.re + b.im * b.im;
  return { re: (a.re * b.re + a.im * b.im) / norm, im: (a.im * b.re - a.re * b.im) / norm };
}

/** `exp(a)`. */
export function exp(a: Complex): Complex {
  const size = Math.exp(a.re);
  // exp(−∞) is 0 for any angle. Without this line an infinite angle would give NaN.
  if (size === 0) return { re: 0, im: 0 };
  return { re: size * Math.cos(a.im), im: size * Math.sin(a.im) };
}

/** The principal logarithm of `a`, which is −∞ at zero. */
export function log(a: Complex): Complex {
  return { re: Math.log(Math.hypot(a.re, a.im)), im: Math.atan2(a.im, a.re) };
}
