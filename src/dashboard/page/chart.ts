/**
 * A line chart that can be read and zoomed with mouse, touch or keyboard. Drag across a part to see only that, turn the wheel
 * over it once it has the focus (or with Ctrl), double-click to see all; or + and −, the arrows and 0. What lies under the
 * cursor is written in the legend, so nothing jumps and nothing is covered.
 */

import { type Axis, makeAxis } from "../../drawing/axis.js";
import { isWhole, moved, type Range, within, zoomed } from "../zoom.js";
import { h, s, setText } from "./dom.js";
import { Legend } from "./legend.js";

export interface ChartSeries {
  readonly id: string;
  readonly label: string;
  /** The number of its colour. */
  readonly color: number;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly dash?: boolean;
  /** Drawn thicker: what the chart is about. */
  readonly strong?: boolean;
}

export interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly logX?: boolean;
  readonly logY?: boolean;
  /** Marks every point: for few points that were measured one by one. */
  readonly marked?: boolean;
  readonly format: (value: number) => string;
}

const TOP = 10;
const BOTTOM = 40;
const RIGHT = 14;

/** Narrower drags are clicks. */
const LEAST_DRAG = 6;

export class Chart {
  readonly root: HTMLElement;
  private readonly svg = s("svg", { "aria-hidden": "true", class: "lines" });
  private readonly plot: HTMLElement;
  private readonly status = h("p", { class: "visually-hidden", role: "status" });
  private readonly reset: HTMLButtonElement;
  private readonly legend: Legend;
  private series: readonly ChartSeries[] = [];
  private view: Range | null = null;
  private cursor: number | null = null;
  private dragFrom: number | null = null;
  private axes: { x: Axis; y: Axis; left: number } | undefined;
  private readonly observer = new ResizeObserver(() => this.draw());

  constructor(private readonly options: ChartOptions) {
    this.legend = new Legend(options.format, () => this.draw());
    this.reset = h(
      "button",
      { class: "quiet", type: "button", hidden: true, on: { click: () => this.show(null) } },
      "Show all",
    );
    this.plot = h(
      "div",
      {
        class: "plot",
        tabindex: 0,
        role: "group",
        "aria-label": `${options.title}: ${options.yLabel} over ${options.xLabel}. Arrow keys read values, plus and minus zoom, Shift with arrows moves, 0 shows all.`,
        on: {
          keydown: (event) => this.onKey(event),
          pointerdown: (event) => this.onDown(event),
          pointermove: (event) => this.onMove(event),
          pointerup: (event) => this.onUp(event),
          pointerleave: () => this.read(null),
          dblclick: () => this.show(null),
        },
      },
      this.svg,
    );
    this.plot.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.root = h(
      "figure",
      { class: "chart" },
      h("figcaption", {}, h("h3", {}, options.title), h("span", { class: "unit" }, options.yLabel), this.reset),
      this.plot,
      this.legend.root,
      this.status,
    );
    this.observer.observe(this.plot);
  }

  setSeries(series: readonly ChartSeries[]): void {
    this.series = series.map((each) => ({ ...each, points: each.points.filter((point) => this.canDraw(point)) }));
    this.legend.setSeries(this.series);
    this.draw();
  }

  close(): void {
    this.observer.disconnect();
  }

  private canDraw({ x, y }: { x: number; y: number }): boolean {
    const { logX = false, logY = false } = this.options;
    return Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0);
  }

  /** X as it is laid out: zooming a logarithmic axis is linear in the logarithm. */
  private readonly toPlace = (x: number): number => (this.options.logX ? Math.log10(x) : x);
  private readonly fromPlace = (place: number): number => (this.options.logX ? 10 ** place : place);

  private visible(): ChartSeries[] {
    return this.series.filter(({ id }) => !this.legend.isHidden(id));
  }

  private whole(): Range {
    const places = this.series.flatMap(({ points }) => points.map(({ x }) => this.toPlace(x)));
    const from = places.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const to = places.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    if (!Number.isFinite(from)) return { from: 0, to: 1 };
    if (from === to) return { from: from - 0.5, to: to + 0.5 };
    const room = this.options.marked ? 0.03 * (to - from) : 0; // marks at the edges are not cut
    return { from: from - room, to: to + room };
  }

  private show(view: Range | null): void {
    this.view = view === null || isWhole(view, this.whole()) ? null : view;
    this.draw();
  }

  private draw(): void {
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (width === 0 || height === 0) return;
    const whole = this.whole();
    if (this.view) this.view = within(this.view, whole);
    const range = this.view ?? whole;
    this.reset.hidden = this.view === null;
    const [low, high] = [this.fromPlace(range.from), this.fromPlace(range.to)];
    const shown = this.visible();
    const inView = shown.flatMap(({ points }) => points.filter(({ x }) => x >= low && x <= high).map(({ y }) => y));
    const where = this.options.title;
    const y = makeAxis(inView, height - BOTTOM, TOP, { log: this.options.logY, count: height / 42, where });
    const left = 12 + 7 * Math.max(3, ...y.ticks.map(({ label }) => label.length));
    const x = makeAxis([], left, width - RIGHT, {
      ...{ log: this.options.logX, min: low, max: high, where },
      count: Math.max(2, (width - left) / 90),
    });
    this.axes = { x, y, left };
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren(
      ...this.frame(x, y, { left, width, height }),
      this.lines(shown, x, y, { left, width, height }),
    );
    this.drawCursor();
  }

  private frame(x: Axis, y: Axis, { left, width, height }: Box): SVGElement[] {
    const bottom = height - BOTTOM;
    return [
      ...y.ticks.flatMap(({ value, label }) => [
        s("line", { class: "grid", x1: left, x2: width - RIGHT, y1: y.at(value), y2: y.at(value) }),
        s("text", { x: left - 8, y: y.at(value) + 4, "text-anchor": "end" }, label),
      ]),
      s("line", { class: "axis", x1: left, x2: width - RIGHT, y1: bottom, y2: bottom }),
      ...x.ticks.flatMap(({ value, label }) => [
        s("line", { class: "axis", x1: x.at(value), x2: x.at(value), y1: bottom, y2: bottom + 4 }),
        s("text", { x: x.at(value), y: bottom + 18, "text-anchor": "middle" }, label),
      ]),
      s("text", { x: width - RIGHT, y: height - 4, "text-anchor": "end", class: "label" }, this.options.xLabel),
    ];
  }

  /** Inside a nested svg, which cuts off what reaches out. */
  private lines(series: readonly ChartSeries[], x: Axis, y: Axis, { left, width, height }: Box): SVGElement {
    const window = { x: left, y: 0, width: Math.max(0, width - RIGHT - left + 4), height: height - BOTTOM + 3 };
    const inside = s("svg", { ...window, viewBox: `${window.x} 0 ${window.width} ${window.height}` });
    const order = [...series].sort((a, b) => Number(a.strong ?? false) - Number(b.strong ?? false));
    for (const { points, color, dash, strong } of order) {
      const kind = `line${dash ? " dashed" : ""}${strong ? " strong" : ""}`;
      const vars = { "--c": `var(--s${color})` };
      const path = points
        .map((point, i) => `${i === 0 ? "M" : "L"}${place(x.at(point.x))} ${place(y.at(point.y))}`)
        .join("");
      inside.append(s("path", { class: kind, d: path, vars }));
      if (points.length === 1 || this.options.marked)
        for (const point of points)
          inside.append(s("circle", { class: "dot", cx: x.at(point.x), cy: y.at(point.y), r: 3.5, vars }));
    }
    return inside;
  }

  private drawCursor(): void {
    for (const old of this.svg.querySelectorAll(".cursor, .drag")) old.remove();
    this.legend.readAt(this.cursor);
    if (this.cursor === null || !this.axes) return;
    const { x, y } = this.axes;
    const at = x.at(this.cursor);
    const bottom = this.plot.clientHeight - BOTTOM;
    const group = s("g", { class: "cursor" }, s("line", { x1: at, x2: at, y1: TOP, y2: bottom }));
    for (const { points, color } of this.visible()) {
      const point = points.find((each) => each.x === this.cursor);
      if (point) group.append(s("circle", { cx: at, cy: y.at(point.y), r: 4, vars: { "--c": `var(--s${color})` } }));
    }
    this.svg.append(group);
  }

  private read(x: number | null): void {
    if (x === this.cursor) return;
    this.cursor = x;
    this.drawCursor();
  }

  /** All x of what is shown, ascending. */
  private places(): number[] {
    const xs = new Set(this.visible().flatMap(({ points }) => points.map(({ x }) => x)));
    return [...xs].sort((a, b) => a - b);
  }

  private valueAt(event: MouseEvent): number {
    const { left, width } = this.plot.getBoundingClientRect();
    const from = this.axes?.left ?? 0;
    const share = (event.clientX - left - from) / Math.max(1, width - RIGHT - from);
    const range = this.view ?? this.whole();
    return range.from + Math.min(1, Math.max(0, share)) * (range.to - range.from);
  }

  private onKey(event: KeyboardEvent): void {
    const whole = this.whole();
    const range = this.view ?? whole;
    const middle = this.cursor === null ? (range.from + range.to) / 2 : this.toPlace(this.cursor);
    const actions: Readonly<Record<string, () => void>> = {
      "+": () => this.show(zoomed(range, whole, 0.6, middle)),
      "=": () => this.show(zoomed(range, whole, 0.6, middle)),
      "-": () => this.show(zoomed(range, whole, 1 / 0.6, middle)),
      "0": () => this.show(null),
      Escape: () => this.show(null),
      ArrowLeft: () => (event.shiftKey ? this.show(moved(range, whole, -0.2)) : this.step(-1)),
      ArrowRight: () => (event.shiftKey ? this.show(moved(range, whole, 0.2)) : this.step(1)),
    };
    if (!Object.hasOwn(actions, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** Reads the next place to the left or right, aloud where a screen reader listens. */
  private step(by: number): void {
    const places = this.places();
    if (places.length === 0) return;
    const at = this.cursor === null ? (by > 0 ? -1 : places.length) : places.indexOf(this.cursor);
    const next = places[Math.min(places.length - 1, Math.max(0, at + by))];
    this.read(next);
    setText(this.status, `${this.options.xLabel} ${next}: ${this.legend.valuesAt(next)}`);
  }

  private onWheel(event: WheelEvent): void {
    // A page that cannot be scrolled past a chart is worse than one more click.
    if (document.activeElement !== this.plot && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const whole = this.whole();
    const factor = Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300));
    this.show(zoomed(this.view ?? whole, whole, factor, this.valueAt(event)));
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.dragFrom = event.clientX;
    this.plot.setPointerCapture(event.pointerId);
  }

  private onMove(event: PointerEvent): void {
    const value = this.fromPlace(this.valueAt(event));
    const places = this.places();
    const nearest = places.reduce<number | null>(
      (best, x) => (best === null || Math.abs(x - value) < Math.abs(best - value) ? x : best),
      null,
    );
    this.read(nearest);
    if (this.dragFrom === null || Math.abs(event.clientX - this.dragFrom) < LEAST_DRAG) return;
    for (const old of this.svg.querySelectorAll(".drag")) old.remove();
    const { left } = this.plot.getBoundingClientRect();
    const [a, b] = [this.dragFrom - left, event.clientX - left].sort((p, q) => p - q);
    this.svg.append(
      s("rect", { class: "drag", x: a, width: b - a, y: TOP, height: this.plot.clientHeight - BOTTOM - TOP }),
    );
  }

  private onUp(event: PointerEvent): void {
    const from = this.dragFrom;
    this.dragFrom = null;
    if (from === null || Math.abs(event.clientX - from) < LEAST_DRAG) return;
    const start = this.valueAt(new MouseEvent("click", { clientX: from }));
    const [low, high] = [start, this.valueAt(event)].sort((a, b) => a - b);
    if (high > low) this.show({ from: low, to: high });
  }
}

interface Box {
  readonly left: number;
  readonly width: number;
  readonly height: number;
}

const place = (value: number): string => value.toFixed(1);
