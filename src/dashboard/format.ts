/** Numbers and times as text on the page. */

/** A fraction in percent, `85.5`; a dash if there is none. */
export const percent = (fraction: number | null): string => (fraction === null ? "–" : (100 * fraction).toFixed(1));

/** A duration in its two largest units: `42 s`, `3 min 20 s`, `5 h 2 min`, `2 d 4 h`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "–";
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86_400) return pair(whole, 3600, "h", 60, "min");
  return pair(whole, 86_400, "d", 3600, "h");
}

/** A duration in its largest unit only, for narrow places: `3 min`. */
export const roughly = (seconds: number): string => duration(seconds).split(" ").slice(0, 2).join(" ");

function pair(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ""}`;
}

/** The time since a moment: `now`, `3 min ago`, `2 d ago`. */
export function ago(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds / 1000);
  if (seconds < 10) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** A count with its noun: `1 run`, `12,345 runs`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

/** A value of a curve with a useful number of digits: `0.1234`, `12.35`, `1,234`, `1.2e−7`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-4) return value.toExponential(1).replace("e+", "e").replaceAll("-", "−");
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return value
    .toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replace("-", "−");
}
