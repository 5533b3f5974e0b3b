/** What to expect of a model on a new domain, from the accuracies of runs that each held one domain out. */

export interface Expected {
  /** The mean over domains. */
  readonly mean: number;
  /** The lowest, which is the one to plan with, and the domain it is of. */
  readonly lowest: number;
  readonly domain: string;
}

/** From the domains of an estimate; null where there are none. */
export function expectedOf(domains: readonly { readonly name: string; readonly accuracy: number }[]): Expected | null {
  if (domains.length === 0) return null;
  const worst = domains.reduce((a, b) => (b.accuracy < a.accuracy ? b : a));
  const mean = domains.reduce((sum, { accuracy }) => sum + accuracy, 0) / domains.length;
  return { mean, lowest: worst.accuracy, domain: worst.name };
}
