/** The legend of a chart: a button a line that hides or shows it, and the value under the cursor, or the last. */

import type { ChartSeries } from "./chart.js";
import { h, setText } from "./dom.js";

interface Entry {
  readonly series: ChartSeries;
  readonly value: HTMLElement;
}

export class Legend {
  readonly root = h("ul", { class: "legend" });
  private readonly hidden = new Set<string>();
  private entries: Entry[] = [];
  private shown = "";

  constructor(
    private readonly format: (value: number) => string,
    private readonly changed: () => void,
  ) {}

  isHidden(id: string): boolean {
    return this.hidden.has(id);
  }

  setSeries(series: readonly ChartSeries[]): void {
    const looks = JSON.stringify(series.map(({ id, label, color, dash, strong }) => [id, label, color, dash, strong]));
    if (looks !== this.shown) {
      // Made anew only when another line comes or goes, so that the focus stays on a button while a run trains.
      this.shown = looks;
      this.entries = series.map((each) => ({ series: each, value: h("span", { class: "value" }) }));
      this.root.replaceChildren(...this.entries.map((entry) => this.item(entry)));
    } else this.entries = this.entries.map((entry, i) => ({ ...entry, series: series[i] }));
    this.readAt(null);
  }

  /** Writes the values at x, or the last ones. */
  readAt(x: number | null): void {
    for (const { series, value } of this.entries) setText(value, this.textAt(series, x));
  }

  /** The values at x in a sentence. */
  valuesAt(x: number): string {
    const shown = this.entries.filter(({ series }) => !this.hidden.has(series.id));
    return shown.map(({ series }) => `${series.label} ${this.textAt(series, x)}`).join(", ");
  }

  private textAt({ points }: ChartSeries, x: number | null): string {
    const point = x === null ? points.at(-1) : points.find((each) => each.x === x);
    return point ? this.format(point.y) : "–";
  }

  private item({ series, value }: Entry): HTMLElement {
    const { id, label, color, dash, strong } = series;
    const sample = h("span", {
      class: `sample${dash ? " dashed" : ""}${strong ? " strong" : ""}`,
      vars: { "--c": `var(--s${color})` },
      "aria-hidden": "true",
    });
    const button = h(
      "button",
      {
        type: "button",
        "aria-pressed": String(!this.hidden.has(id)),
        title: "Hide or show this line",
        on: {
          click: () => {
            if (!this.hidden.delete(id)) this.hidden.add(id);
            button.setAttribute("aria-pressed", String(!this.hidden.has(id)));
            this.changed();
          },
        },
      },
      sample,
      h("span", { class: "name" }, label),
      value,
    );
    return h("li", {}, button);
  }
}
