/**
 * Brute-force integrals for the tests: Gauss–Legendre quadrature over every feature and every sign of the spurious
 * ones.
 */

import { density } from "./distributions.js";

/**
 * Returns nodes and weights of the n-point Gauss–Legendre rule on [0, 1], computed with Newton's method on the Legendre
 * polynomial.
 */
export function gaussLegendre(n: number): { nodes: number[]; weights: number[] } {
  const nodes: number[] = [];
  const weights: number[] = [];
  for (let i = 0; i < n; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    let slope = 1;
    for (let step = 0; step < 100; step++) {
      let [p0, p1] = [1, x];
      for (let k = 2; k <= n; k++) [p0, p1] = [p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k];
      slope = (n * (x * p1 - p0)) / (x * x - 1);
      const change = p1 / slope;
      x -= change;
      if (Math.abs(change) < 1e-16) break;
    }
    nodes.push((1 + x) / 2);
    weights.push(1 / ((1 - x * x) * slope * slope));
  }
  return { nodes, weights };
}

/** Returns E[f(z)] over independent z_j ~ D_{γ_j}. */
export function bruteForce(gammas: readonly number[], f: (z: readonly number[]) => number, points = 24): number {
  const { nodes, weights } = gaussLegendre(points);
  const sum = (chosen: number[]): number => {
    if (chosen.length === gammas.length) return f(chosen);
    const gamma = gammas[chosen.length];
    let total = 0;
    for (const side of [0, -1]) {
      const height = density(gamma, side + 0.5);
      if (height === 0) continue;
      nodes.forEach((node, i) => {
        total += weights[i] * height * sum([...chosen, node + side]);
      });
    }
    return total;
  };
  return sum([]);
}
