/** The expected accuracy of a model on a new domain, from runs that each held out one domain. */

export interface Expected {
  /** The mean over domains. */
  readonly mean: number;
  /** The lowest accuracy, which is the one to plan with, and its domain. */
  readonly lowest: number;
  readonly domain: string;
}

/** From the domains of an estimate; null if there are none. */
export function expectedOf(domains: readonly { readonly name: string; readonly accuracy: number }[]): Expected | null {
  if (domains.length === 0) return null;
  const worst = domains.reduce((a, b) => (b.accuracy < a.accuracy ? b : a));
  const mean = domains.reduce((sum, { accuracy }) => sum + accuracy, 0) / domains.length;
  return { mean, lowest: worst.accuracy, domain: worst.name };
}
