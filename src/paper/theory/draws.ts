/**
 * Pseudo-random draws keyed by a seed and a purpose, so that adding one experiment does not change the others. The
 * generator is sfc32 (Doty-Humphrey's "small fast counting" generator, 128 bits of state), which passes PractRand and
 * takes a few nanoseconds per number: the checks here draw some hundred million numbers.
 */

/** A stream of uniform numbers in (0, 1). */
export type Draw = () => number;

/** Returns the stream for a seed and a purpose. */
export function draws(seed: number, purpose: string): Draw {
  // FNV-1a over the key, followed by 16 discarded rounds of the generator for mixing.
  let a = 0x811c9dc5;
  for (const character of `${seed}/${purpose}`) a = Math.imul(a ^ character.charCodeAt(0), 0x01000193);
  let b = Math.imul(a, 0x9e3779b1) ^ seed;
  let c = Math.imul(b ^ (b >>> 15), 0x85ebca6b);
  let counter = 1;
  const next = (): number => {
    const t = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return ((t >>> 0) + 0.5) / 4294967296;
  };
  for (let i = 0; i < 16; i++) next();
  return next;
}

/** Draws once from D_γ. γ = ½ is the invariant distribution. */
export function drawFeature(gamma: number, draw: Draw): number {
  const u = draw();
  const q = 0.5 - gamma;
  return u < q ? u / q - 1 : (u - q) / (1 - q);
}

/** Draws from D_γ tilted by e^{vz}, by inverting the distribution function on each side of zero. */
export function tiltedFeature(gamma: number, v: number, draw: Draw): Draw {
  // ∫₋₁⁰ e^{vz} dz is e^{−v} ∫₀¹ e^{vz} dz, so the probability of the negative side needs neither integral.
  const negative = 1 / (1 + ((0.5 + gamma) / (0.5 - gamma)) * Math.exp(v));
  const range = Math.expm1(v);
  const quantile = Math.abs(v) < 1e-8 ? (u: number) => u : (u: number) => Math.log1p(u * range) / v;
  return () => {
    const u = draw();
    return u < negative ? quantile(u / negative) - 1 : quantile((u - negative) / (1 - negative));
  };
}
