/** The axes of a chart: the pixel of a value, and the round values at which ticks are drawn. */
import { UsageError } from "../errors.js";

export interface Tick {
  value: number;
  label: string;
}

/** A map from values to pixels, with its ticks. */
export interface Axis {
  from: number;
  to: number;
  ticks: Tick[];
  /** The pixel of a value; values outside [from, to] land outside the frame. */
  at(value: number): number;
}

/** Round values (1, 2 or 5 times a power of ten apart) inside [from, to], about `count` of them. */
export function linearTicks(from: number, to: number, count = 6): Tick[] {
  const rough = (to - from) / Math.max(1, count);
  const power = Math.floor(Math.log10(rough));
  const mantissa = rough / 10 ** power;
  const [multiple, carry] = mantissa <= 1 ? [1, 0] : mantissa <= 2 ? [2, 0] : mantissa <= 5 ? [5, 0] : [1, 1];
  const exponent = power + carry;
  const step = multiple * 10 ** exponent;
  const ticks: Tick[] = [];
  // Integer multiples of the step, so that rounding errors do not accumulate along the axis.
  for (let k = Math.ceil(from / step - 1e-9); k <= to / step + 1e-9; k++) {
    const value = Number((k * step).toPrecision(12));
    ticks.push({ value, label: tickLabel(value, Math.max(0, -exponent)) });
  }
  return ticks;
}

/** Powers of ten inside [from, to], with 2 and 5 between them when there are few, thinned when there are many. */
export function logTicks(from: number, to: number, count = 6): Tick[] {
  const [low, high] = [Math.log10(from), Math.log10(to)];
  const decades = high - low;
  if (decades < 0.7) return linearTicks(from, to, count).filter((tick) => tick.value > 0);
  const multiples = decades < 3 ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / count));
  const ticks: Tick[] = [];
  for (let power = Math.floor(low - 1e-9); power <= high + 1e-9; power++) {
    if (power % stride !== 0) continue;
    for (const multiple of multiples) {
      const value = Number(`${multiple}e${power}`); // the literal gives the double nearest to 0.0001, 10 ** -4 does not
      const place = Math.log10(value);
      if (place >= low - 1e-9 && place <= high + 1e-9)
        ticks.push({ value, label: tickLabel(value, Math.max(0, -power)) });
    }
  }
  return ticks;
}

function tickLabel(value: number, decimals: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const label =
    size >= 1e6 || size < 1e-4 ? value.toExponential().replace("e+", "e") : value.toFixed(Math.min(20, decimals));
  return label.replace("-", "\u2212").replace("e-", "e\u2212");
}

export interface AxisOptions {
  log?: boolean;
  min?: number;
  max?: number;
  /** The approximate number of ticks that fit. */
  count?: number;
  /** The names of the chart and of the axis, for errors. */
  where: string;
}

/** An axis over the values, from pixel `start` to pixel `end`, with a margin at ends that were not given. */
export function makeAxis(values: readonly number[], start: number, end: number, options: AxisOptions): Axis {
  const { log = false, min, max, count = 6, where } = options;
  const seen = log ? values.map((value) => Math.log10(positive(value, where))) : values;
  const givenLow = min === undefined ? undefined : log ? Math.log10(positive(min, where)) : min;
  const givenHigh = max === undefined ? undefined : log ? Math.log10(positive(max, where)) : max;
  let low = givenLow ?? seen.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  let high = givenHigh ?? seen.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(low)) low = Number.isFinite(high) ? high - 1 : 0; // no values at all
  if (!Number.isFinite(high)) high = low + 1;
  if (givenLow !== undefined && givenHigh !== undefined && low >= high)
    throw new UsageError(`${where}: expected a minimum below the maximum, got ${min} and ${max}`);
  const tiny = 1e-12 * Math.max(Math.abs(low), Math.abs(high), 1e-300);
  const room = high - low > tiny ? 0.04 * (high - low) : log ? 0.5 : 0.5 * (Math.abs(low) || 1);
  if (givenLow === undefined) low -= room;
  if (givenHigh === undefined) high += room;
  if (low >= high) [low, high] = givenLow === undefined ? [high - room, high] : [low, low + room];
  const [from, to] = log ? [10 ** low, 10 ** high] : [low, high];
  return {
    from,
    to,
    ticks: log ? logTicks(from, to, count) : linearTicks(from, to, count),
    at: (value) => start + (((log ? Math.log10(value) : value) - low) / (high - low)) * (end - start),
  };
}

function positive(value: number, where: string): number {
  if (value > 0) return value;
  throw new UsageError(`${where}: a logarithmic axis needs values above zero, got ${value}`);
}
