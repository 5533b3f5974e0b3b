import { expect, test } from "vitest";
import { complex, exp, scale } from "./complex.js";
import {
  density,
  INVARIANT,
  logMarginMgf,
  logMgf,
  marginRange,
  negativePart,
  positivePart,
  tiltedMean,
  tiltedMoment,
  uniformMoment,
  variance,
} from "./distributions.js";
import { bruteForce, gaussLegendre } from "./quadrature.fixture.js";

test("∫ z^k e^{vz} agrees with quadrature on both sides of the series' radius", () => {
  const { nodes, weights } = gaussLegendre(40);
  for (const v of [
    complex(0),
    complex(0.2, -0.1),
    complex(-1.2, 1.5),
    complex(-1.5, 1.4),
    complex(3, 4),
    complex(-6, 9),
  ]) {
    for (const k of [0, 1, 2] as const) {
      let [re, im] = [0, 0];
      nodes.forEach((z, i) => {
        const e = exp(scale(v, z));
        re += weights[i] * z ** k * e.re;
        im += weights[i] * z ** k * e.im;
      });
      const value = uniformMoment(k, v);
      expect(value.re, `k=${k}, v=${v.re}+${v.im}i`).toBeCloseTo(re, 13);
      expect(value.im, `k=${k}, v=${v.re}+${v.im}i`).toBeCloseTo(im, 13);
    }
  }
});

test("D_γ has mass one, mean γ and second moment 1/3", () => {
  for (const gamma of [-0.4, 0.1, 0.4, INVARIANT]) {
    expect(bruteForce([gamma], () => 1)).toBeCloseTo(1, 14);
    expect(bruteForce([gamma], ([z]) => z)).toBeCloseTo(gamma, 14);
    expect(bruteForce([gamma], ([z]) => (z - gamma) ** 2)).toBeCloseTo(variance(gamma), 14);
  }
  expect(density(0.4, 1.5)).toBe(0);
});

test("the logarithm of the generating function is that of the sum of both sides", () => {
  for (const v of [complex(0.3), complex(-2, 1), complex(4, -3)]) {
    for (const gamma of [-0.3, 0.2, INVARIANT]) {
      const whole = tiltedMoment(gamma, 0, v);
      const fromLog = exp(logMgf(gamma, v));
      expect(fromLog.re).toBeCloseTo(whole.re, 12);
      expect(fromLog.im).toBeCloseTo(whole.im, 12);
      const [above, below] = [positivePart(gamma, 1, v), negativePart(gamma, 1, v)];
      expect(above.re + below.re).toBeCloseTo(tiltedMoment(gamma, 1, v).re, 12);
    }
  }
});

test("a strong tilt does not overflow", () => {
  // E e^{vU} ≈ e^v / v.
  expect(logMgf(INVARIANT, complex(1e5)).re).toBeCloseTo(1e5 - Math.log(1e5), 8);
  expect(logMgf(0.4, complex(-1e5)).re).toBeCloseTo(1e5 - Math.log(1e5) + Math.log(0.1), 8);
  expect(tiltedMean(0.4, -1e4)).toBeCloseTo(-1 + 1e-4, 12);
  expect(tiltedMean(-0.5, 1e4)).toBeCloseTo(-1e-4, 12);
  expect(tiltedMean(INVARIANT, 499)).toBeCloseTo(tiltedMean(INVARIANT, 501), 4);
});

test("a margin's generating function multiplies, and its range adds", () => {
  const groups = [
    { gamma: INVARIANT, weight: 0.7, count: 2 },
    { gamma: 0.2, weight: -0.4, count: 1 },
  ];
  const u = 0.9;
  const direct = bruteForce([INVARIANT, INVARIANT, 0.2], ([a, b, c]) => Math.exp(u * (0.7 * (a + b) - 0.4 * c)));
  expect(Math.exp(logMarginMgf(groups, complex(u)).re)).toBeCloseTo(direct, 12);
  expect(marginRange(groups).low).toBeCloseTo(-0.4, 15);
  expect(marginRange(groups).high).toBeCloseTo(1.8, 15);
});
