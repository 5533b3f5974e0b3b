/** Sweeps: how far each is, and its grid, a row a method and a column a held-out domain, whose cells fill as runs end. */

import { fixedText } from "../../records/fixed-settings.js";
import { type GridCell, type RunState, runStates, type StateCounts, type SweepGrid, type SweepRow } from "../api.js";
import { counted } from "../format.js";
import { ask, isCalledOff } from "./ask.js";
import { h } from "./dom.js";
import { store } from "./store.js";
import { command, emptyState, problem, runAddress, stateBadge, type View } from "./view.js";

/** In the order in which a bar fills. */
const filling: readonly RunState[] = ["done", "running", "stopped", "hopeless", "cancelled", "failed", "waiting"];

export function sweepsView(asked: string | undefined): View {
  const view = new SweepsView(asked);
  return { title: "Sweeps", root: view.root, close: () => view.close() };
}

class SweepsView {
  readonly root = h("section", { class: "sweeps" });
  private readonly list = h("ul", { class: "sweep-list" });
  private readonly body = h("div", {});
  private readonly asking = new AbortController();
  private shown = "";
  private listed = "";
  private readonly end: () => void;

  constructor(private readonly asked: string | undefined) {
    this.end = store.subscribe(() => this.changed());
    this.changed();
  }

  close(): void {
    this.end();
    this.asking.abort();
  }

  private changed(): void {
    const sweeps = [...store.sweeps.values()];
    if (sweeps.length === 0) {
      this.root.replaceChildren(
        emptyState(
          store.isRead ? "No sweeps here" : "Reading the folder …",
          h("p", {}, "A sweep is many runs planned at once: every method, held-out domain and trial."),
          command("nudge sweep plan --help"),
        ),
      );
      return;
    }
    const chosen = sweeps.find(({ id }) => id === this.asked) ?? sweeps[0];
    const now = JSON.stringify(sweeps);
    if (now === this.listed) return;
    this.listed = now;
    if (!this.body.isConnected)
      this.root.replaceChildren(h("h1", { class: "visually-hidden" }, "Sweeps"), this.list, this.body);
    this.list.replaceChildren(...sweeps.map((sweep) => listItem(sweep, sweep === chosen)));
    if (chosen.problem !== null) this.body.replaceChildren(problem(chosen.problem));
    else void this.load(chosen.id);
  }

  private async load(sweep: string): Promise<void> {
    try {
      const grid = await ask<SweepGrid>("/api/sweep", { sweep }, this.asking.signal);
      const now = JSON.stringify(grid);
      if (now === this.shown) return;
      this.shown = now;
      const { scrollLeft = 0 } = this.body.querySelector(".scroll") ?? {};
      this.body.replaceChildren(...gridParts(grid));
      const scroll = this.body.querySelector(".scroll");
      if (scroll) scroll.scrollLeft = scrollLeft;
    } catch (error) {
      if (!isCalledOff(error)) this.body.replaceChildren(problem((error as Error).message));
    }
  }
}

function listItem({ id, name, runs, counts }: SweepRow, chosen: boolean): HTMLElement {
  return h(
    "li",
    {},
    h(
      "a",
      { href: `#/sweeps/${encodeURIComponent(id)}`, "aria-current": chosen ? "true" : null },
      h("strong", {}, name),
      h("span", { class: "soft" }, `${counts.done.toLocaleString("en-US")} of ${counted(runs, "run")} done`),
      bar(counts, runs),
    ),
  );
}

/** How many are in which state, as one bar. */
function bar(counts: StateCounts, total: number): HTMLElement {
  const words = filling.filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${state}`);
  return h(
    "span",
    { class: "stack", role: "img", "aria-label": words.join(", "), title: words.join(", ") },
    ...filling
      .filter((state) => counts[state] > 0)
      .map((state) => h("span", { class: `fill ${state}`, vars: { "--share": counts[state] / Math.max(1, total) } })),
  );
}

function gridParts({ columns, rows, protocol }: SweepGrid): HTMLElement[] {
  const datasets = columns.reduce<{ name: string; span: number }[]>((spans, { dataset }) => {
    const last = spans.at(-1);
    if (last?.name === dataset) last.span++;
    else spans.push({ name: dataset, span: 1 });
    return spans;
  }, []);
  return [
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Grid of the sweep" },
      h(
        "table",
        { class: "grid" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            ...datasets.map(({ name, span }) => h("th", { scope: "colgroup", colspan: span }, name)),
          ),
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Method"),
            ...columns.map(({ heldOut }) => h("th", { scope: "col" }, heldOut)),
          ),
        ),
        h(
          "tbody",
          {},
          ...rows.map(({ method, fixed, cells }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, method, h("span", { class: "soft" }, fixedText(fixed))),
              ...cells.map(gridCell),
            ),
          ),
        ),
      ),
    ),
    h("p", { class: "key" }, ...runStates.map(stateBadge)),
    h(
      "details",
      { class: "soft" },
      h("summary", {}, "How the runs are made"),
      ...protocol.map((line) => h("p", {}, line)),
    ),
  ];
}

function gridCell(cell: GridCell | null): HTMLElement {
  if (!cell) return h("td", { class: "none" });
  const total = runStates.reduce((sum, state) => sum + cell.counts[state], 0);
  if (cell.runs.length === 0)
    return h("td", {}, bar(cell.counts, total), h("span", { class: "soft" }, `${cell.counts.done} / ${total}`));
  const marks = cell.runs.map(([id, state, title]) =>
    h("a", {
      class: `cell ${state}`,
      href: runAddress(id),
      title: `${title}: ${state}`,
      "aria-label": `${title}: ${state}`,
    }),
  );
  return h("td", {}, h("div", { class: "cells" }, ...marks));
}
