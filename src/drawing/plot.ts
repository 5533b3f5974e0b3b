/**
 * Charts as SVG text: lines with error bars or bands, classes of points with decision boundaries, and panels of both.
 *
 * This module does not depend on the meaning of the data. Text that is too long is not cut; use a wider chart. A number that is not finite is
 * an error that names the series and the point, so that no point is lost silently.
 */
import { UsageError } from "../errors.js";
import { errorBar, type LegendEntry, line, makeFrame, marker } from "./frame.js";
import { type Boundary, clipToHalfPlane, lineInBox } from "./half-plane.js";
import { textWidth } from "./stroke-font.js";
import { coordinate as c, escapeXml, finite, paletteColor, svgDocument, text } from "./svg.js";

/** One line of a chart. Points with `lo` and `hi` have error bars, or a band if there are many points. */
export interface Series {
  label: string;
  points: { x: number; y: number; lo?: number; hi?: number }[];
  color?: string;
  dash?: boolean;
  marker?: boolean;
  /** False to draw only markers. */
  line?: boolean;
  /** The marker (default: by the position of the series in the chart). */
  shape?: number;
}

interface Chart {
  title: string;
  xLabel: string;
  yLabel: string;
  xMin?: number;
  xMax?: number;
  yMin?: number;
  yMax?: number;
  width?: number;
  height?: number;
  /** A note in small type below the chart. */
  note?: string;
}

export interface LineChart extends Chart {
  series: Series[];
  logX?: boolean;
  logY?: boolean;
  /** False for no legend, for example if several charts share one explanation. */
  legend?: boolean;
}

/** With more points than this, `lo` and `hi` are drawn as a shaded band, otherwise as error bars. */
const barsUpTo = 15;

/** Draws a line chart. */
export function lineChart(chart: LineChart): string {
  const name = `chart "${chart.title}"`;
  const xs: number[] = [];
  const ys: number[] = [];
  for (const series of chart.series)
    series.points.forEach((point, i) => {
      const where = `${name}, series "${series.label}", point ${i}`;
      xs.push(finite(point.x, `${where}, x`));
      ys.push(finite(point.y, `${where}, y`));
      if ((point.lo === undefined) !== (point.hi === undefined))
        throw new UsageError(`${where}: lo and hi go together`);
      if (point.lo !== undefined) ys.push(finite(point.lo, `${where}, lo`));
      if (point.hi !== undefined) ys.push(finite(point.hi, `${where}, hi`));
    });
  const legend = chart.series.map((series, i): LegendEntry => {
    const color = series.color ?? paletteColor(i);
    return {
      label: series.label,
      draw: (x, y) =>
        (series.line === false ? "" : line(x, y, x + 22, y, color, series.dash)) +
        (series.marker || series.line === false ? marker(x + 11, y, series.shape ?? i, color) : ""),
    };
  });
  const frame = makeFrame(chart, chart.legend === false ? [] : legend, {
    x: { values: xs, log: chart.logX, min: chart.xMin, max: chart.xMax },
    y: { values: ys, log: chart.logY, min: chart.yMin, max: chart.yMax },
  });
  const { x, y, inside } = frame;
  const clipped: string[] = [];
  const onTop: string[] = [];
  chart.series.forEach((series, i) => {
    const color = series.color ?? paletteColor(i);
    const ranged = series.points.filter((p) => p.lo !== undefined && p.hi !== undefined);
    if (ranged.length > barsUpTo) {
      const edge = [...ranged.map((p) => [p.x, p.hi!]), ...ranged.toReversed().map((p) => [p.x, p.lo!])];
      const outline = edge.map(([px, py]) => `${c(x.at(px))},${c(y.at(py))}`).join(" ");
      clipped.push(`<polygon points="${outline}" fill="${escapeXml(color)}" fill-opacity="0.18" stroke="none"/>`);
    } else for (const p of ranged) clipped.push(errorBar(x.at(p.x), y.at(p.lo!), y.at(p.hi!), color));
    const path = series.points.map((p) => `${c(x.at(p.x))},${c(y.at(p.y))}`).join(" ");
    const dash = series.dash ? ' stroke-dasharray="6 4"' : "";
    if (series.points.length > 1 && series.line !== false)
      clipped.push(
        `<polyline points="${path}" fill="none" stroke="${escapeXml(color)}" stroke-width="2" stroke-linejoin="round"${dash}/>`,
      );
    if (series.marker || series.line === false || series.points.length === 1)
      for (const p of series.points)
        if (inside(p.x, p.y)) onTop.push(marker(x.at(p.x), y.at(p.y), series.shape ?? i, color));
  });
  return frame.document(clipped.join("\n"), onTop.join("\n"));
}

/** Classes of points in the plane, with the boundaries between them. */
export interface ScatterChart extends Chart {
  classes: { label: string; points: { x: number; y: number }[]; color?: string }[];
  /** Lines across the whole frame; those with a label are in the legend. */
  lines?: (Boundary & { label?: string; color?: string; dash?: boolean; width?: number; opacity?: number })[];
  /** The half-plane a·x + b·y + c > 0, which is shaded. */
  halfPlanes?: (Boundary & { color: string })[];
  /** Text inside the frame, at coordinates of the axes. */
  words?: { x: number; y: number; text: string; anchor?: "start" | "middle" | "end" }[];
}

/** Draws points of classes, lines and shaded half-planes. */
export function scatterChart(chart: ScatterChart): string {
  const name = `chart "${chart.title}"`;
  const lines = chart.lines ?? [];
  for (const item of [...lines, ...(chart.halfPlanes ?? [])])
    for (const key of ["a", "b", "c"] as const) finite(item[key], `${name}, boundary, ${key}`);
  const points = chart.classes.flatMap((group) =>
    group.points.map((p, i) => {
      const where = `${name}, class "${group.label}", point ${i}`;
      return { x: finite(p.x, `${where}, x`), y: finite(p.y, `${where}, y`) };
    }),
  );
  const legend: LegendEntry[] = chart.classes.map((group, i) => {
    const color = group.color ?? paletteColor(i);
    return { label: group.label, draw: (x, y) => marker(x + 11, y, i, color) };
  });
  for (const item of lines)
    if (item.label)
      legend.push({ label: item.label, draw: (x, y) => line(x, y, x + 22, y, item.color ?? "#222222", item.dash) });
  const frame = makeFrame(chart, legend, {
    x: { values: points.map((p) => p.x), min: chart.xMin, max: chart.xMax },
    y: { values: points.map((p) => p.y), min: chart.yMin, max: chart.yMax },
  });
  const { x, y, inside } = frame;
  const box = { x0: x.from, x1: x.to, y0: y.from, y1: y.to };
  const shapes: string[] = [];
  for (const plane of chart.halfPlanes ?? []) {
    const corners = clipToHalfPlane(box, plane).map((p) => `${c(x.at(p.x))},${c(y.at(p.y))}`);
    if (corners.length > 2)
      shapes.push(
        `<polygon points="${corners.join(" ")}" fill="${escapeXml(plane.color)}" fill-opacity="0.14" stroke="none"/>`,
      );
  }
  chart.classes.forEach((group, i) => {
    for (const p of group.points)
      if (inside(p.x, p.y)) shapes.push(marker(x.at(p.x), y.at(p.y), i, group.color ?? paletteColor(i)));
  });
  for (const item of lines) {
    const ends = lineInBox(box, item);
    if (ends)
      shapes.push(
        line(
          x.at(ends[0].x),
          y.at(ends[0].y),
          x.at(ends[1].x),
          y.at(ends[1].y),
          item.color ?? "#222222",
          item.dash,
          item.width,
          item.opacity,
        ),
      );
  }
  const words = (chart.words ?? []).map((word) =>
    text(x.at(finite(word.x, `${name}, words`)), y.at(finite(word.y, `${name}, words`)), word.text, {
      anchor: word.anchor,
      size: 12,
    }),
  );
  return frame.document(shapes.join("\n"), words.join("\n"));
}

/** Puts charts side by side, in rows of `columns` (default: all in one row), under an optional title. */
export function panels(svgs: string[], options: { columns?: number; title?: string } = {}): string {
  const columns = options.columns ?? Math.max(1, svgs.length);
  if (!Number.isInteger(columns) || columns < 1)
    throw new UsageError(`panels: expected a positive number of columns, got ${columns}`);
  const sizes = svgs.map((svg, i) => {
    const size = /^<svg [^>]*?width="([\d.]+)" height="([\d.]+)"/.exec(svg);
    if (!size)
      throw new UsageError(`panels: chart ${i} is not an SVG made here: it has no width and height at its start`);
    return { width: Number(size[1]), height: Number(size[2]) };
  });
  let top = options.title ? 34 : 0;
  let width = options.title ? textWidth(options.title, 16, true) + 24 : 1;
  const placed: string[] = [];
  for (let start = 0; start < svgs.length; start += columns) {
    const row = sizes.slice(start, start + columns);
    let left = 0;
    row.forEach((size, i) => {
      placed.push(svgs[start + i].replace(/^<svg xmlns="[^"]*"/, `<svg x="${c(left)}" y="${c(top)}"`));
      left += size.width;
    });
    width = Math.max(width, left);
    top += row.reduce((most, size) => Math.max(most, size.height), 0);
  }
  const heading = options.title
    ? `${text(width / 2, 24, options.title, { size: 16, bold: true, anchor: "middle" })}\n`
    : "";
  return svgDocument(width, Math.max(1, top), options.title ?? "panels", heading + placed.join("\n"));
}
