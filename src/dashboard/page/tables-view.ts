/** The report's tables over all runs, or a sweep's, under a selection rule that can be changed; they follow the runs. */

import type { CellText, ReportData, TableData } from "../api.js";
import { counted } from "../format.js";
import { ask, isCalledOff } from "./ask.js";
import type { Chart } from "./chart.js";
import { differenceChart } from "./difference-chart.js";
import { type Child, h, inWords } from "./dom.js";
import { store } from "./store.js";
import { command, emptyState, problem, segmented, select, type View } from "./view.js";
import { weightCharts } from "./weight-charts.js";

/** Milliseconds between two looks while runs train: tables are the whole folder's work. */
const EVERY_MS = 3_000;

/** As many notes as are shown without being asked for. */
const FEW_NOTES = 4;

/** Kept while other views are open. */
const kept = { selection: "training-domain", published: false, sweep: "" };

export function tablesView(): View {
  const view = new TablesView();
  return { title: "Tables", root: view.root, close: () => view.close() };
}

class TablesView {
  readonly root = h("section", { class: "tables" });
  private readonly controls = h("div", { class: "bar" });
  private readonly body = h("div", { "aria-live": "off" });
  private asking = new AbortController();
  private charts: Chart[] = [];
  private shown = "";
  private offered = "";
  private timer: number | undefined;
  private askedAt = 0;
  private readonly end: () => void;

  constructor() {
    this.root.append(h("h1", { class: "visually-hidden" }, "Tables"), this.controls, this.body);
    this.body.append(h("p", { class: "soft" }, "Making the tables …"));
    this.end = store.subscribe(() => this.soon());
    void this.load();
  }

  close(): void {
    this.end();
    window.clearTimeout(this.timer);
    this.asking.abort();
    for (const chart of this.charts) chart.close();
  }

  private soon(): void {
    const wait = Math.max(0, this.askedAt + EVERY_MS - Date.now());
    this.timer ??= window.setTimeout(() => {
      this.timer = undefined;
      void this.load();
    }, wait);
  }

  private async load(): Promise<void> {
    this.asking.abort();
    this.asking = new AbortController();
    this.askedAt = Date.now();
    const { selection, published, sweep } = kept;
    try {
      const query = { selection, ...(published ? { published: "1" } : {}), ...(sweep ? { sweep } : {}) };
      const report = await ask<ReportData>("/api/report", query, this.asking.signal);
      const now = JSON.stringify(report);
      if (now === this.shown) return;
      this.shown = now;
      this.showControls(report);
      this.show(report);
    } catch (error) {
      if (!isCalledOff(error)) this.body.replaceChildren(problem((error as Error).message));
    }
  }

  private showControls({ selections, selection }: ReportData): void {
    const offered = JSON.stringify([selection, [...store.sweeps.keys()]]);
    if (offered === this.offered) return; // not made anew under somebody's hands
    this.offered = offered;
    const again = (): void => {
      this.shown = "";
      this.body.classList.add("stale");
      void this.load();
    };
    const rules = selections.map(({ id, title, about }) => ({ id, label: shortRule[id] ?? title, title: about }));
    const published = h("input", {
      type: "checkbox",
      checked: kept.published,
      on: {
        change: () => {
          kept.published = published.checked;
          again();
        },
      },
    });
    const sweeps = [
      { id: "", label: "all runs" },
      ...Array.from(store.sweeps.values(), ({ id, name }) => ({ id, label: name })),
    ];
    this.controls.replaceChildren(
      segmented("Selection", rules, kept.selection, (id) => {
        kept.selection = id;
        again();
      }),
      h("label", { class: "check" }, published, "the paper's numbers"),
      sweeps.length > 1
        ? select("Of", sweeps, kept.sweep, (id) => {
            kept.sweep = id;
            again();
          })
        : "",
    );
  }

  private show(report: ReportData): void {
    for (const chart of this.charts) chart.close();
    this.charts = [];
    this.body.classList.remove("stale");
    if (report.tables.length === 0 && report.models.length === 0) {
      this.body.replaceChildren(
        emptyState(
          "Nothing to tabulate yet",
          h("p", {}, "A table needs a run that has been evaluated at least once."),
          command(`nudge train --help`),
        ),
      );
      return;
    }
    const weights = weightCharts(report.weights);
    this.charts.push(...weights.charts);
    this.body.replaceChildren(
      h(
        "p",
        { class: "soft" },
        `${counted(report.runs, "run")}. Bold: best; underlined: second; (n/m): n of m trials.`,
      ),
      ...report.tables.map(tableSection),
      ...report.models.map(modelSection),
      ...report.comparisons.map(differenceChart),
      ...weights.sections,
      report.notes.length > 0 ? notesSection(report.notes) : "",
    );
  }
}

const shortRule: Readonly<Record<string, string>> = {
  "training-domain": "training domains",
  "leave-one-domain-out": "leave one domain out",
  oracle: "oracle",
};

function tableSection({ title, words, columns, rows, notes }: TableData): HTMLElement {
  const body = rows.map(({ title: name, kind, cells }) =>
    h("tr", { class: kind }, h("th", { scope: "row" }, name), ...cells.map(cellOf)),
  );
  return h(
    "section",
    {},
    h("h2", {}, title),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table ${title}` },
      h(
        "table",
        { class: "report" },
        h("thead", {}, h("tr", {}, ...["Method", ...columns].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...body),
      ),
    ),
    notes.length > 0
      ? h(
          "details",
          { class: "soft", open: notes.length <= FEW_NOTES },
          h("summary", {}, counted(notes.length, "note")),
          h("ol", { class: "notes" }, ...notes.map((note) => h("li", {}, note))),
        )
      : "",
    h(
      "details",
      { class: "soft" },
      h("summary", {}, "How these were made"),
      ...words.map((line) => h("p", {}, ...inWords(line))),
    ),
  );
}

/** The models to use of a folder of own pictures. */
function modelSection({ title, words, head, rows }: ReportData["models"][number]): HTMLElement {
  return h(
    "section",
    {},
    h("h2", {}, title),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      h(
        "table",
        { class: "plain models" },
        h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
        h(
          "tbody",
          {},
          ...rows.map(([name, ...cells]) =>
            h("tr", {}, h("th", { scope: "row" }, name), ...cells.map((text) => h("td", {}, text))),
          ),
        ),
      ),
    ),
    ...words.map((line) => h("p", { class: "soft words" }, line)),
  );
}

function cellOf({ text, mark, partial, note }: CellText): HTMLElement {
  const children: Child[] = [text || "–"];
  if (partial !== null) children.push(` (${partial})`);
  if (note !== null) children.push(h("sup", {}, note));
  return h("td", { class: mark ?? undefined }, ...children);
}

function notesSection(notes: readonly string[]): HTMLElement {
  const items = h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note)));
  return h(
    "section",
    {},
    h("h2", {}, "What was left out, or must be known"),
    notes.length <= FEW_NOTES
      ? items
      : h("details", { class: "soft" }, h("summary", {}, counted(notes.length, "note")), items),
  );
}
