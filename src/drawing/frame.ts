/** The frame around a chart's data (title, axes, grid, legend, note), and the marks that both kinds of charts use. */
import { UsageError } from "../errors.js";
import { type Axis, makeAxis } from "./axis.js";
import { textWidth } from "./stroke-font.js";
import { coordinate as c, escapeXml, finite, svgDocument, text } from "./svg.js";

/** The entry of one series in the legend. */
export interface LegendEntry {
  label: string;
  /** Draws a sample with a width of 22, starting at x and centred on y. */
  draw(x: number, y: number): string;
}

interface AxisData {
  values: readonly number[];
  log?: boolean;
  min?: number;
  max?: number;
}

interface Labels {
  title: string;
  xLabel: string;
  yLabel: string;
  width?: number;
  height?: number;
  note?: string;
}

/** Title, axes, grid, legend and note, and the area inside them for the data. */
export function makeFrame(chart: Labels, legend: LegendEntry[], data: { x: AxisData; y: AxisData }) {
  const width = finite(chart.width ?? 560, `chart "${chart.title}", width`);
  const height = finite(chart.height ?? 400, `chart "${chart.title}", height`);
  const rows = legendRows(legend, width - 24);
  const top = 36;
  const noteAt = height - 10;
  const legendAt = (chart.note ? noteAt - 14 : height - 6) - rows.length * 18;
  const bottom = legendAt - 40;
  const right = width - 16;
  if (bottom - top < 40)
    throw new UsageError(`chart "${chart.title}": ${width}×${height} leaves no room beside its legend; make it higher`);
  const y = makeAxis(data.y.values, bottom, top, {
    ...data.y,
    count: Math.max(5, Math.round((bottom - top) / 45)),
    where: `chart "${chart.title}", y axis`,
  });
  const left = 30 + Math.max(18, ...y.ticks.map((tick) => textWidth(tick.label, 11)));
  const x = makeAxis(data.x.values, left, right, {
    ...data.x,
    count: Math.max(2, Math.round((right - left) / 70)),
    where: `chart "${chart.title}", x axis`,
  });

  const parts: string[] = [text(width / 2, 22, chart.title, { size: 14, bold: true, anchor: "middle" })];
  for (const tick of x.ticks) {
    parts.push(line(x.at(tick.value), top, x.at(tick.value), bottom, "#e4e4e4", false, 1));
    parts.push(text(x.at(tick.value), bottom + 15, tick.label, { size: 11, anchor: "middle" }));
  }
  for (const tick of y.ticks) {
    parts.push(line(left, y.at(tick.value), right, y.at(tick.value), "#e4e4e4", false, 1));
    parts.push(text(left - 6, y.at(tick.value) + 4, tick.label, { size: 11, anchor: "end" }));
  }
  parts.push(text((left + right) / 2, bottom + 32, chart.xLabel, { anchor: "middle" }));
  parts.push(text(16, (top + bottom) / 2, chart.yLabel, { anchor: "middle", rotate: -90 }));
  rows.forEach((row, i) => {
    let at = (width - row.width) / 2;
    const middle = legendAt + i * 18 + 9;
    for (const entry of row.entries) {
      parts.push(entry.draw(at, middle) + text(at + 28, middle + 4, entry.label));
      at += legendWidth(entry);
    }
  });
  if (chart.note) parts.push(text(width / 2, noteAt, chart.note, { size: 10, anchor: "middle", color: "#555555" }));

  const border = `<rect x="${c(left)}" y="${c(top)}" width="${c(right - left)}" height="${c(bottom - top)}" fill="none" stroke="#444444" stroke-width="1"/>`;
  // A nested svg clips its content; its viewBox keeps the outer coordinates.
  const window = `x="${c(left)}" y="${c(top)}" width="${c(right - left)}" height="${c(bottom - top)}"`;
  const view = `viewBox="${c(left)} ${c(top)} ${c(right - left)} ${c(bottom - top)}"`;
  return {
    x,
    y,
    inside: (px: number, py: number) => within(x, px) && within(y, py),
    document: (clipped: string, onTop: string) =>
      svgDocument(
        width,
        height,
        chart.title,
        [...parts, `<svg ${window} ${view}>\n${clipped}\n</svg>`, border, onTop].filter(Boolean).join("\n"),
      ),
  };
}

/** Whether a value is on the axis, with a tolerance for rounding at its ends. */
function within(axis: Axis, value: number): boolean {
  const slack = 1e-9 * (axis.to - axis.from);
  return value >= axis.from - slack && value <= axis.to + slack;
}

const legendWidth = (entry: LegendEntry): number => 28 + textWidth(entry.label, 12) + 18;

function legendRows(entries: LegendEntry[], room: number): { entries: LegendEntry[]; width: number }[] {
  const rows: { entries: LegendEntry[]; width: number }[] = [];
  for (const entry of entries) {
    const width = legendWidth(entry);
    const row = rows.at(-1);
    if (row && row.width + width <= room) {
      row.entries.push(entry);
      row.width += width;
    } else rows.push({ entries: [entry], width });
  }
  return rows;
}

/** A straight line. */
export function line(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  color: string,
  dash = false,
  width = 2,
  opacity = 1,
): string {
  const extra = (dash ? ' stroke-dasharray="6 4"' : "") + (opacity < 1 ? ` stroke-opacity="${c(opacity)}"` : "");
  return `<line x1="${c(x1)}" y1="${c(y1)}" x2="${c(x2)}" y2="${c(y2)}" stroke="${escapeXml(color)}" stroke-width="${c(width)}"${extra}/>`;
}

/** An error bar from lo to hi with caps. */
export function errorBar(x: number, lo: number, hi: number, color: string): string {
  const d = `M${c(x)} ${c(lo)}V${c(hi)}M${c(x - 3)} ${c(lo)}h6M${c(x - 3)} ${c(hi)}h6`;
  return `<path d="${d}" fill="none" stroke="${escapeXml(color)}" stroke-width="1.2"/>`;
}

/** The n-th marker. Shapes differ as well as colours, so that a print in greyscale is readable. */
export function marker(x: number, y: number, n: number, color: string): string {
  const paint = `fill="${escapeXml(color)}" stroke="#ffffff" stroke-width="0.6"`;
  switch (n % 4) {
    case 0:
      return `<circle cx="${c(x)}" cy="${c(y)}" r="3.6" ${paint}/>`;
    case 1:
      return `<path d="M${c(x)} ${c(y - 4.4)}l4.2 7.4h-8.4z" ${paint}/>`;
    case 2:
      return `<rect x="${c(x - 3.2)}" y="${c(y - 3.2)}" width="6.4" height="6.4" ${paint}/>`;
    default:
      return `<path d="M${c(x)} ${c(y - 4.6)}l4.2 4.6l-4.2 4.6l-4.2 -4.6z" ${paint}/>`;
  }
}
