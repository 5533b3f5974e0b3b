/** Random pairs of training domains: each is first in one pair and second in another, as DomainBed draws them. */

/** The pairs (π₀, π₁), (π₁, π₂), …, (πₙ₋₁, π₀) of some items in a random order π; a single item is paired with itself. */
export function cyclicPairs<T>(items: readonly T[], order: readonly number[]): [T, T][] {
  return order.map((first, i) => [items[first], items[order[(i + 1) % order.length]]]);
}
