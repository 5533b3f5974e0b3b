/**
 * A line chart that can be read and zoomed with mouse, touch or keyboard. Drag over a range to zoom in, use the wheel
 * when the chart has the focus (or with Ctrl), and double-click to zoom out; or use +, −, the arrow keys and 0. The
 * values under the cursor are shown in the legend, so nothing moves or is covered.
 */

import { Component, createRef, type JSX } from "preact";
import { type Axis, makeAxis } from "../../drawing/axis.js";
import { isWhole, moved, type Range, within, zoomed } from "../zoom.js";
import { colored, Sample } from "./view.js";

export interface ChartSeries {
  readonly id: string;
  readonly label: string;
  /** The index of its color. */
  readonly color: number;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly dash?: boolean;
  /** Drawn thicker, for the main lines of the chart. */
  readonly strong?: boolean;
}

export interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly logX?: boolean;
  readonly logY?: boolean;
  /** Marks every point; for a few points that were measured individually. */
  readonly marked?: boolean;
  readonly format: (value: number) => string;
  readonly large?: boolean;
}

const TOP = 10;
const BOTTOM = 40;
const RIGHT = 14;

/** Shorter drags count as clicks. */
const LEAST_DRAG = 6;

export class Chart extends Component<ChartOptions & { readonly series: readonly ChartSeries[] }> {
  private readonly plot = createRef<HTMLDivElement>();
  private readonly hidden = new Set<string>();
  private series: readonly ChartSeries[] = [];
  private view: Range | null = null;
  private cursor: number | null = null;
  private drag: { readonly from: number; readonly to: number } | null = null;
  private spoken = "";
  private axes: { x: Axis; y: Axis; left: number } | undefined;
  private readonly observer = new ResizeObserver(() => this.draw());

  override componentDidMount(): void {
    this.observer.observe(this.plot.current!);
    this.plot.current!.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
  }

  override componentWillUnmount(): void {
    this.observer.disconnect();
  }

  private draw(): void {
    this.setState({});
  }

  private canDraw({ x, y }: { x: number; y: number }): boolean {
    const { logX = false, logY = false } = this.props;
    return Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0);
  }

  /** X on the scale of the axis: zooming a logarithmic axis is linear in the logarithm. */
  private readonly toPlace = (x: number): number => (this.props.logX ? Math.log10(x) : x);
  private readonly fromPlace = (place: number): number => (this.props.logX ? 10 ** place : place);

  private visible(): ChartSeries[] {
    return this.series.filter(({ id }) => !this.hidden.has(id));
  }

  private whole(): Range {
    const places = this.series.flatMap(({ points }) => points.map(({ x }) => this.toPlace(x)));
    const from = places.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const to = places.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    if (!Number.isFinite(from)) return { from: 0, to: 1 };
    if (from === to) return { from: from - 0.5, to: to + 0.5 };
    const room = this.props.marked ? 0.03 * (to - from) : 0; // marks at the edges are not clipped
    return { from: from - room, to: to + room };
  }

  private show(view: Range | null): void {
    this.view = view === null || isWhole(view, this.whole()) ? null : view;
    this.draw();
  }

  override render(): JSX.Element {
    const { title, xLabel, yLabel, large } = this.props;
    this.series = this.props.series.map((each) => ({ ...each, points: each.points.filter((p) => this.canDraw(p)) }));
    if (this.view) this.view = within(this.view, this.whole());
    const { clientWidth: width = 0, clientHeight: height = 0 } = this.plot.current ?? {};
    return (
      <figure class={large ? "chart large" : "chart"}>
        <figcaption>
          <h3>{title}</h3>
          <span class="unit">{yLabel}</span>
          <button class="quiet" type="button" hidden={this.view === null} onClick={() => this.show(null)}>
            Show all
          </button>
        </figcaption>
        <div
          class="plot"
          ref={this.plot}
          tabIndex={0}
          role="group"
          aria-label={`${title}: ${yLabel} over ${xLabel}. Arrow keys read values, plus and minus zoom, Shift with arrows moves, 0 shows all.`}
          onKeyDown={(event) => this.onKey(event)}
          onPointerDown={(event) => this.onDown(event)}
          onPointerMove={(event) => this.onMove(event)}
          onPointerUp={(event) => this.onUp(event)}
          onPointerLeave={() => this.read(null)}
          onDblClick={() => this.show(null)}
        >
          <svg aria-hidden="true" class="lines" viewBox={`0 0 ${width} ${height}`}>
            {width > 0 && height > 0 && this.drawing(width, height)}
          </svg>
        </div>
        {this.legend()}
        <p class="visually-hidden" role="status">
          {this.spoken}
        </p>
      </figure>
    );
  }

  /** A button per line that hides or shows it, with the value under the cursor or the last value. */
  private legend(): JSX.Element {
    const toggle = (id: string): void => {
      if (!this.hidden.delete(id)) this.hidden.add(id);
      this.draw();
    };
    return (
      <ul class="legend">
        {this.series.map((each) => (
          <li key={each.id}>
            <button
              type="button"
              aria-pressed={!this.hidden.has(each.id)}
              title="Hide or show this line"
              onClick={() => toggle(each.id)}
            >
              <Sample {...each} />
              <span class="name">{each.label}</span>
              <span class="value">{this.textAt(each, this.cursor)}</span>
            </button>
          </li>
        ))}
      </ul>
    );
  }

  private textAt({ points }: ChartSeries, x: number | null): string {
    const point = x === null ? points.at(-1) : points.find((each) => each.x === x);
    return point ? this.props.format(point.y) : "–";
  }

  private drawing(width: number, height: number): JSX.Element {
    const { title: where, xLabel, logX, logY } = this.props;
    const { from, to } = this.view ?? this.whole();
    const [low, high] = [this.fromPlace(from), this.fromPlace(to)];
    const inView = this.visible().flatMap(({ points }) =>
      points.filter(({ x }) => x >= low && x <= high).map(({ y }) => y),
    );
    const [bottom, right] = [height - BOTTOM, width - RIGHT];
    const y = makeAxis(inView, bottom, TOP, { log: logY, count: height / 42, where });
    const left = 12 + 7 * Math.max(3, ...y.ticks.map(({ label }) => label.length));
    const x = makeAxis([], left, right, {
      ...{ log: logX, min: low, max: high, where },
      count: Math.max(2, (width - left) / 90),
    });
    this.axes = { x, y, left };
    const { drag } = this;
    return (
      <>
        {y.ticks.map(({ value, label }) => (
          <g key={label}>
            <line class="grid" x1={left} x2={right} y1={y.at(value)} y2={y.at(value)} />
            <text x={left - 8} y={y.at(value) + 4} text-anchor="end">
              {label}
            </text>
          </g>
        ))}
        <line class="axis" x1={left} x2={right} y1={bottom} y2={bottom} />
        {x.ticks.map(({ value, label }) => (
          <g key={label}>
            <line class="axis" x1={x.at(value)} x2={x.at(value)} y1={bottom} y2={bottom + 4} />
            <text x={x.at(value)} y={bottom + 18} text-anchor="middle">
              {label}
            </text>
          </g>
        ))}
        <text x={right} y={height - 4} text-anchor="end" class="label">
          {xLabel}
        </text>
        {this.lines(x, y, { x: left, width: Math.max(0, right - left + 4), height: bottom + 3 })}
        {this.cursorLine(x, y, bottom)}
        {drag && Math.abs(drag.to - drag.from) >= LEAST_DRAG && (
          <rect
            class="drag"
            x={Math.min(drag.from, drag.to)}
            width={Math.abs(drag.to - drag.from)}
            y={TOP}
            height={bottom - TOP}
          />
        )}
      </>
    );
  }

  /** Inside a nested svg, which clips the lines. */
  private lines(
    x: Axis,
    y: Axis,
    { x: left, width, height }: { x: number; width: number; height: number },
  ): JSX.Element {
    const order = this.visible().sort((a, b) => Number(a.strong ?? false) - Number(b.strong ?? false));
    return (
      <svg x={left} y={0} width={width} height={height} viewBox={`${left} 0 ${width} ${height}`}>
        {order.map(({ id, points, color, dash, strong }) => (
          <g key={id} style={colored(color)}>
            <path
              class={`line${dash ? " dashed" : ""}${strong ? " strong" : ""}`}
              d={points.map((p, i) => `${i === 0 ? "M" : "L"}${place(x.at(p.x))} ${place(y.at(p.y))}`).join("")}
            />
            {(points.length === 1 || this.props.marked) &&
              points.map((p) => <circle key={p.x} class="dot" cx={x.at(p.x)} cy={y.at(p.y)} r={3.5} />)}
          </g>
        ))}
      </svg>
    );
  }

  private cursorLine(x: Axis, y: Axis, bottom: number): JSX.Element | null {
    const { cursor } = this;
    if (cursor === null) return null;
    const at = x.at(cursor);
    return (
      <g class="cursor">
        <line x1={at} x2={at} y1={TOP} y2={bottom} />
        {this.visible().map(({ id, points, color }) => {
          const point = points.find((each) => each.x === cursor);
          return point && <circle key={id} cx={at} cy={y.at(point.y)} r={4} style={colored(color)} />;
        })}
      </g>
    );
  }

  private read(x: number | null): void {
    if (x === this.cursor) return;
    this.cursor = x;
    this.draw();
  }

  /** All x values of the visible lines, in ascending order. */
  private places(): number[] {
    const xs = new Set(this.visible().flatMap(({ points }) => points.map(({ x }) => x)));
    return [...xs].sort((a, b) => a - b);
  }

  /** The value on the x axis, on its scale, at a distance in pixels from the left. */
  private valueAt(across: number): number {
    const from = this.axes?.left ?? 0;
    const share = (across - from) / Math.max(1, this.plot.current!.clientWidth - RIGHT - from);
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

  /** Moves to the next point on the left or right, and announces it to screen readers. */
  private step(by: number): void {
    const places = this.places();
    if (places.length === 0) return;
    const at = this.cursor === null ? (by > 0 ? -1 : places.length) : places.indexOf(this.cursor);
    const next = places[Math.min(places.length - 1, Math.max(0, at + by))];
    const values = this.visible().map((each) => `${each.label} ${this.textAt(each, next)}`);
    this.spoken = `${this.props.xLabel} ${next}: ${values.join(", ")}`;
    this.cursor = next;
    this.draw();
  }

  private onWheel(event: WheelEvent): void {
    // Without the focus, the wheel scrolls the page.
    if (document.activeElement !== this.plot.current && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const whole = this.whole();
    const factor = Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300));
    this.show(zoomed(this.view ?? whole, whole, factor, this.valueAt(this.across(event))));
  }

  /** A horizontal position in the plot, in pixels. */
  private across(event: MouseEvent): number {
    return event.clientX - this.plot.current!.getBoundingClientRect().left;
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.drag = { from: this.across(event), to: this.across(event) };
    this.plot.current!.setPointerCapture(event.pointerId);
  }

  private onMove(event: PointerEvent): void {
    const value = this.fromPlace(this.valueAt(this.across(event)));
    const nearest = this.places().reduce<number | null>(
      (best, x) => (best === null || Math.abs(x - value) < Math.abs(best - value) ? x : best),
      null,
    );
    this.cursor = nearest;
    if (this.drag) this.drag = { ...this.drag, to: this.across(event) };
    this.draw();
  }

  private onUp(event: PointerEvent): void {
    const { drag } = this;
    this.drag = null;
    this.draw();
    if (!drag || Math.abs(this.across(event) - drag.from) < LEAST_DRAG) return;
    const [from, to] = [drag.from, this.across(event)].map((at) => this.valueAt(at)).sort((a, b) => a - b);
    if (to > from) this.show({ from, to });
  }
}

const place = (value: number): string => value.toFixed(1);
