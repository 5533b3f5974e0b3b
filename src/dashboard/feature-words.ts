/** The text above the measures of features: the pictures they are from, and the lines that are drawn. */

/** A line of a chart. */
interface Line {
  /** Whether it belongs to a held-out domain. */
  readonly dash: boolean;
  readonly points: readonly unknown[];
}

/** Lines with one point each are shown as numbers, and nothing is dashed there. */
export function featureWords(lines: readonly Line[]): string {
  const held = lines.filter(({ dash, points }) => dash && points.length > 0);
  const dashed = held.some(({ points }) => points.length > 1) ? " (dashed)" : "";
  const which = held.length > 0 ? `of all training domains together, and of each held-out domain${dashed}` : "";
  return (
    `Measured at each evaluation on the same validation pictures${which ? `: ${which}` : " of all training domains together"}. ` +
    "Scale is not rank: smaller features with a larger classifier reduce the nuclear norm and do not change any rank."
  );
}
