/** A distance percentile with one decimal, rounded down: 100 is shown only for pictures that are farther than all validation pictures. */
export const percentileText = (percentile: number): string => (Math.floor(10 * percentile) / 10).toFixed(1);
