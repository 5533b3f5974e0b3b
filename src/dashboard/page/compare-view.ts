/** Several runs in one chart, and what tells them apart: the settings in which they differ. */

import type { RunCurves, RunDetails, RunRow } from "../api.js";
import { meanPoints, metricTitle } from "../curve-points.js";
import { percent, short } from "../format.js";
import { ask, isCalledOff } from "./ask.js";
import { Chart, type ChartSeries } from "./chart.js";
import { compared } from "./compared.js";
import { h } from "./dom.js";
import { store } from "./store.js";
import { emptyState, runAddress, runWords, segmented, select, stateBadge, trialWords, type View } from "./view.js";

interface Loaded {
  readonly row: RunRow;
  readonly color: number;
  curves?: RunCurves;
  details?: RunDetails;
  /** The row as it was when the curves were asked for. */
  seen?: string;
}

/** Kept while other views are open. */
const kept = { metric: "accuracy", where: "held out", split: "reported" };

export function compareView(): View {
  const view = new CompareView();
  return { title: "Compare", root: view.root, close: () => view.close() };
}

class CompareView {
  readonly root = h("section", { class: "compare" });
  private readonly runs = new Map<string, Loaded>();
  private readonly controls = h("div", { class: "bar" });
  private readonly place = h("div", {});
  private readonly table = h("div", { class: "scroll" });
  private chart: Chart | undefined;
  private drawn = "";
  private offered = "";
  private readonly asking = new AbortController();
  private readonly ends: (() => void)[];

  constructor() {
    this.ends = [
      store.subscribe(() => this.changed()),
      compared.subscribe(() => this.changed()),
      () => this.asking.abort(),
    ];
    this.changed();
  }

  close(): void {
    for (const end of this.ends) end();
    this.chart?.close();
  }

  private changed(): void {
    const chosen = compared.list().flatMap(({ id, color }) => {
      const row = store.runs.get(id);
      return row ? [{ row, color }] : [];
    });
    for (const id of this.runs.keys()) if (!chosen.some(({ row }) => row.id === id)) this.runs.delete(id);
    for (const { row, color } of chosen) this.runs.set(row.id, { ...this.runs.get(row.id), row, color });
    if (chosen.length === 0) {
      this.root.replaceChildren(
        emptyState(
          "Nothing to compare yet",
          h(
            "p",
            {},
            "Choose runs by their boxes in the ",
            h("a", { href: "#/" }, "list of runs"),
            ", or with Space on a row.",
          ),
        ),
      );
      return;
    }
    if (!this.place.isConnected)
      this.root.replaceChildren(
        h("h1", { class: "visually-hidden" }, "Compare"),
        this.controls,
        this.place,
        this.table,
      );
    for (const loaded of this.runs.values()) void this.load(loaded);
    this.show();
  }

  private async load(loaded: Loaded): Promise<void> {
    const { row } = loaded;
    const now = `${row.step} ${row.state}`;
    if (loaded.seen === now || row.state === "waiting") return;
    loaded.seen = now;
    try {
      const { signal } = this.asking;
      const [curves, details] = await Promise.all([
        ask<RunCurves>("/api/curves", { run: row.id }, signal),
        loaded.details ?? ask<RunDetails>("/api/run", { run: row.id }, signal),
      ]);
      const present = this.runs.get(row.id);
      if (!present) return;
      Object.assign(present, { curves, details });
      this.show();
    } catch (error) {
      if (!isCalledOff(error)) loaded.seen = undefined; // asked again with the next change
    }
  }

  private show(): void {
    this.showControls();
    this.showChart();
    this.table.replaceChildren(this.differences());
  }

  private curves(): RunCurves["curves"][number][] {
    return [...this.runs.values()].flatMap(({ curves }) => curves?.curves ?? []);
  }

  private showControls(): void {
    const curves = this.curves();
    const metrics = [...new Set(curves.map(({ metric }) => metric))];
    if (metrics.length > 0 && !metrics.includes(kept.metric)) kept.metric = metrics[0];
    const domains = [...new Set(curves.filter(({ metric }) => metric === kept.metric).map(({ domain }) => domain))];
    const where = [
      { id: "held out", label: "held-out domains, mean" },
      { id: "training", label: domains.includes(null) ? "training domains together" : "training domains, mean" },
      ...domains.flatMap((domain) => (domain === null ? [] : [{ id: `=${domain}`, label: domain }])),
    ];
    if (!where.some(({ id }) => id === kept.where)) kept.where = "held out";
    const offered = JSON.stringify([metrics, where, kept]);
    if (offered === this.offered) return;
    this.offered = offered;
    const again = (): void => {
      this.offered = "";
      this.show();
    };
    const set = (name: keyof typeof kept) => (id: string) => {
      kept[name] = id;
      again();
    };
    this.controls.replaceChildren(
      select(
        "Metric",
        metrics.map((id) => ({ id, label: metricTitle(id) })),
        kept.metric,
        set("metric"),
      ),
      select("On", where, kept.where, set("where")),
      segmented(
        "Part",
        [
          { id: "reported", label: "as reported", title: "in of held-out domains, out of the others" },
          { id: "in", label: "in" },
          { id: "out", label: "out" },
        ],
        kept.split,
        set("split"),
      ),
      h("span", { class: "push" }),
      h("button", { type: "button", class: "quiet", on: { click: () => compared.clear() } }, "Clear"),
    );
  }

  private showChart(): void {
    const isPercent = kept.metric === "accuracy";
    if (this.drawn !== kept.metric) {
      this.drawn = kept.metric;
      this.chart?.close();
      this.chart = new Chart({
        title: metricTitle(kept.metric),
        xLabel: "step",
        yLabel: isPercent ? "%" : "",
        format: isPercent ? (value) => value.toFixed(1) : short,
      });
      this.chart.root.classList.add("large");
      this.place.replaceChildren(this.chart.root);
    }
    this.chart!.setSeries([...this.runs.values()].flatMap((loaded) => seriesOf(loaded, isPercent ? 100 : 1)));
  }

  /** A row a run, a column for what is not the same in all of them. */
  private differences(): HTMLElement {
    const runs = [...this.runs.values()];
    const flat = runs.map(({ details }) => flatten(details?.settings ?? {}));
    const names = [...new Set(flat.flatMap((each) => [...each.keys()]))].filter(
      (name) => new Set(flat.map((each) => each.get(name))).size > 1,
    );
    const head = ["Run", "State", "Step", "Validation", "Held out", ...names];
    return h(
      "table",
      { class: "plain" },
      h("caption", {}, names.length > 0 ? "The runs, and the settings in which they differ" : "The runs"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...head.map((text, i) => h("th", { scope: "col", class: i > 1 && i < 5 ? "number" : undefined }, text)),
        ),
      ),
      h(
        "tbody",
        {},
        ...runs.map(({ row, color }, i) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              h("span", { class: "sample strong", vars: { "--c": `var(--s${color})` }, "aria-hidden": "true" }),
              h("a", { href: runAddress(row.id) }, runWords(row)),
              " ",
              h("span", { class: "soft" }, trialWords(row)),
            ),
            h("td", {}, stateBadge(row.state)),
            h("td", { class: "number" }, row.step ?? "–"),
            h("td", { class: "number" }, percent(row.validation)),
            h("td", { class: "number" }, percent(row.test)),
            ...names.map((name) => h("td", {}, flat[i].get(name) ?? "–")),
          ),
        ),
      ),
    );
  }
}

function seriesOf({ row, color, curves }: Loaded, scale: number): ChartSeries[] {
  if (!curves) return [];
  const own = curves.curves.filter(({ metric }) => metric === kept.metric);
  const held = kept.where === "held out" || (kept.where.startsWith("=") && row.heldOut.includes(kept.where.slice(1)));
  const together = own.some(({ domain }) => domain === null);
  const all = [...new Set(own.flatMap(({ domain }) => domain ?? []))];
  const domains: (string | null)[] =
    kept.where === "held out"
      ? [...row.heldOut]
      : kept.where === "training"
        ? together
          ? [null]
          : all.filter((domain) => !row.heldOut.includes(domain))
        : [kept.where.slice(1)];
  const asked = kept.split === "reported" ? (held ? "in" : "out") : kept.split;
  // Measures of features and training losses have one part only, or none: that one is meant.
  const splits = [...new Set(own.filter(({ domain }) => domains.includes(domain)).map(({ split }) => split))];
  const split = splits.includes(asked) ? asked : (splits[0] ?? null);
  const models = [...new Set(own.map(({ model }) => model))];
  return models.map((model) => ({
    id: `${row.id} ${model}`,
    label: `${runWords(row)}, ${trialWords(row)}${model === "current" ? "" : `, ${model}`}`,
    color,
    dash: model !== "current",
    points: meanPoints(curves, { metric: kept.metric, model, domains, split }, scale),
  }));
}

/** Settings by dotted names; what only names the run or says it again is left out. */
function flatten(settings: Readonly<Record<string, unknown>>, prefix = ""): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [name, value] of Object.entries(settings)) {
    if (prefix === "" && ["request", "hash", "given", "format"].includes(name)) continue;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      for (const [key, text] of flatten(value as Record<string, unknown>, `${name}.`)) flat.set(key, text);
    else if (Array.isArray(value) && value.some((item) => typeof item === "object"))
      for (const { id, settings: own } of value as { id: string; settings: Record<string, unknown> }[])
        for (const [key, text] of flatten(own ?? {}, `${id}.`)) flat.set(key, text);
    else flat.set(prefix + name, Array.isArray(value) ? value.join(", ") : String(value));
  }
  return flat;
}
