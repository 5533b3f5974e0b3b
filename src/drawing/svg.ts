/**
 * The SVG elements that charts are made of: escaped text, checked numbers, one palette.
 *
 * Charts use only this subset (no styles, no scripts, no ids), so that they can be nested in one another, pasted into an
 * HTML report, and turned into a PNG with text drawn as strokes (`stroke-font.ts`).
 */
import { UsageError } from "../errors.js";

/** The palette of Okabe and Ito, distinguishable with all common kinds of colour blindness, with the strongest contrast on white first. */
export const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"] as const;

/** The colour of the n-th series; after the last colour the palette starts again. */
export const paletteColor = (n: number): string => palette[n % palette.length];

/** Escapes a label for use in text and attributes. Characters that XML forbids become U+FFFD. */
export function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids exactly these
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, "\ufffd")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;")
  );
}

/** A coordinate with at most two decimals, so that equal charts have equal bytes on every machine. */
export function coordinate(value: number): string {
  if (!Number.isFinite(value)) throw new UsageError(`drawing a chart: expected a finite coordinate, got ${value}`);
  const rounded = Math.round(value * 100) / 100;
  return String(rounded === 0 ? 0 : rounded); // no "-0"
}

/** Returns the number if it is finite; otherwise throws an error that names its position in the chart. */
export function finite(value: number, where: string): number {
  if (Number.isFinite(value)) return value;
  throw new UsageError(`${where}: expected a finite number, got ${value}; remove the point or correct its source`);
}

export interface TextOptions {
  size?: number;
  anchor?: "start" | "middle" | "end";
  bold?: boolean;
  color?: string;
  /** The rotation about (x, y), clockwise in degrees. */
  rotate?: number;
}

/** One line of text with its baseline at (x, y). */
export function text(x: number, y: number, content: string, options: TextOptions = {}): string {
  const { size = 12, anchor = "start", bold = false, color = "#222222", rotate = 0 } = options;
  const turned = rotate ? ` transform="rotate(${coordinate(rotate)} ${coordinate(x)} ${coordinate(y)})"` : "";
  const weight = bold ? ' font-weight="bold"' : "";
  return `<text x="${coordinate(x)}" y="${coordinate(y)}" font-family="sans-serif" font-size="${coordinate(size)}"${weight} text-anchor="${anchor}" fill="${escapeXml(color)}"${turned}>${escapeXml(content)}</text>`;
}

/** A complete document of the given size on a white background. The title is for screen readers and tooltips. */
export function svgDocument(width: number, height: number, title: string, body: string): string {
  const [w, h] = [coordinate(width), coordinate(height)];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" role="img"><title>${escapeXml(title)}</title><rect width="${w}" height="${h}" fill="#ffffff"/>\n${body}\n</svg>`;
}
