/** The list of runs: what each is up to, filtered, sorted, opened, and chosen for comparison. */

import { fixedText } from "../../records/fixed-settings.js";
import { stateWord } from "../../sweep/run-state.js";
import { type RunRow, type RunState, runStates } from "../api.js";
import { counted } from "../format.js";
import { compared, MOST_COMPARED } from "./compared.js";
import { h, setText } from "./dom.js";
import { columns, findCommon, makeRunRow, type SortKey } from "./run-row.js";
import { store } from "./store.js";
import { command, emptyState, runAddress, type View } from "./view.js";
import { VirtualList } from "./virtual-list.js";

/** Kept while other views are open. */
const kept = {
  text: "",
  states: new Set<RunState>(),
  sort: "at" as SortKey,
  descending: true,
};

export function runsView(): View {
  const view = new RunsView();
  return { title: "Runs", root: view.root, close: () => view.close() };
}

class RunsView {
  readonly root: HTMLElement;
  private readonly list: VirtualList<RunRow>;
  private readonly summary = h("p", { class: "soft", role: "status" });
  private readonly empty = h("div", {});
  private readonly chips = new Map<RunState, HTMLElement>();
  private readonly headers = new Map<SortKey, HTMLElement>();
  private readonly ends: (() => void)[];

  constructor() {
    this.list = new VirtualList<RunRow>(
      {
        label: "Runs",
        key: ({ id }) => id,
        make: makeRunRow,
        open: ({ id }) => {
          location.hash = runAddress(id);
        },
        toggle: ({ id }) => void compared.toggle(id),
      },
      this.head(),
    );
    const search = h("input", {
      type: "search",
      placeholder: "Filter by method, dataset, domain, folder …",
      "aria-label": "Filter runs",
      value: kept.text,
      on: {
        input: () => {
          kept.text = search.value;
          this.show();
        },
      },
    });
    this.root = h(
      "section",
      { class: "runs" },
      h("h1", { class: "visually-hidden" }, "Runs"),
      h(
        "div",
        { class: "bar" },
        search,
        h("div", { class: "chips", role: "group", "aria-label": "States" }, ...this.stateChips()),
      ),
      this.summary,
      this.list.root,
      this.empty,
    );
    const timer = window.setInterval(() => this.list.draw(), 1_000);
    this.ends = [
      store.subscribe(() => this.show()),
      compared.subscribe(() => this.list.draw()),
      () => window.clearInterval(timer),
      () => this.list.close(),
    ];
    this.show();
  }

  close(): void {
    for (const end of this.ends) end();
  }

  private head(): HTMLElement {
    const cells = columns.map(({ key, label, kind, title }) => {
      const button = h("button", { type: "button", title, on: { click: () => this.sortBy(key) } }, label);
      const cell = h("div", { role: "columnheader", class: kind }, button);
      this.headers.set(key, cell);
      return cell;
    });
    const chosen = h(
      "div",
      { role: "columnheader", class: "pick" },
      h("span", { class: "visually-hidden" }, "Compare"),
    );
    return h("div", { class: "head", role: "row", "aria-rowindex": 1 }, chosen, ...cells);
  }

  private stateChips(): HTMLElement[] {
    return runStates.map((state) => {
      const count = h("span", { class: "count" }, "0");
      const chip = h(
        "button",
        {
          type: "button",
          class: "chip",
          "aria-pressed": String(kept.states.has(state)),
          on: {
            click: () => {
              if (!kept.states.delete(state)) kept.states.add(state);
              chip.setAttribute("aria-pressed", String(kept.states.has(state)));
              this.show();
            },
          },
        },
        h("span", { class: `state ${state}` }, h("span", { class: "mark", "aria-hidden": "true" }), stateWord(state)),
        count,
      );
      this.chips.set(state, count);
      return chip;
    });
  }

  private sortBy(key: SortKey): void {
    const column = columns.find((each) => each.key === key)!;
    kept.descending = kept.sort === key ? !kept.descending : column.kind === "number";
    kept.sort = key;
    this.show();
  }

  private show(): void {
    const all = [...store.runs.values()];
    findCommon(all);
    for (const [state, count] of this.chips) {
      const number = all.reduce((sum, row) => sum + Number(row.state === state), 0);
      setText(count, String(number));
      // Only sweeps give runs up or take them out.
      if (state === "hopeless" || state === "cancelled") count.closest("button")!.hidden = number === 0;
    }
    const words = kept.text.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all.filter((row) => fits(row, words)).sort(inOrder());
    for (const [key, cell] of this.headers)
      cell.setAttribute("aria-sort", key !== kept.sort ? "none" : kept.descending ? "descending" : "ascending");
    this.list.setItems(rows);
    this.list.root.hidden = all.length === 0;
    setText(this.summary, this.summaryText(all.length, rows.length));
    this.showEmpty(all.length, rows.length);
  }

  private summaryText(all: number, shown: number): string {
    const { read, found } = store.progress;
    if (all === 0) return store.isRead ? "" : "Reading the folder …";
    const reading =
      read < found ? ` Reading: ${read.toLocaleString("en-US")} of ${found.toLocaleString("en-US")}.` : "";
    const which = shown === all ? counted(all, "run") : `${counted(shown, "run")} of ${all.toLocaleString("en-US")}`;
    return `${which}. Choose up to ${MOST_COMPARED} to compare; Enter opens a run.${reading}`;
  }

  private showEmpty(all: number, shown: number): void {
    if (all > 0 && shown > 0) this.empty.replaceChildren();
    else if (all > 0)
      this.empty.replaceChildren(emptyState("No run fits", h("p", {}, "Take away a word or a state above.")));
    else if (store.isRead && this.empty.childElementCount === 0)
      this.empty.replaceChildren(
        emptyState(
          "No runs here yet",
          h(
            "p",
            {},
            "This page fills by itself once something trains in ",
            h("code", {}, store.folder),
            ". For a first run, on generated pictures:",
          ),
          command(
            `nudge train --data shapes --test-domain outlined --backbone small-cnn --steps 301 --eval-every 20 --out ${store.typed}`,
          ),
        ),
      );
  }
}

const textOf = new WeakMap<RunRow, string>();

/** Whether every word occurs somewhere in what the row says. */
function fits(row: RunRow, words: readonly string[]): boolean {
  if (kept.states.size > 0 && !kept.states.has(row.state)) return false;
  if (words.length === 0) return true;
  let text = textOf.get(row);
  if (text === undefined) {
    text =
      `${row.method} ${row.dataset} ${row.heldOut.join(" ")} ${fixedText(row.fixed)} ${row.id} trial${row.trial}`.toLowerCase();
    textOf.set(row, text);
  }
  return words.every((word) => text.includes(word));
}

function inOrder(): (a: RunRow, b: RunRow) => number {
  const { value } = columns.find(({ key }) => key === kept.sort)!;
  const sign = kept.descending ? -1 : 1;
  return (a, b) => {
    const [x, y] = [value(a), value(b)];
    // What has no value comes last in both directions.
    if (x === null || y === null) return x === y ? byId(a, b) : x === null ? 1 : -1;
    return x === y ? byId(a, b) : sign * (x < y ? -1 : 1);
  };
}

const byId = (a: RunRow, b: RunRow): number => (a.id < b.id ? -1 : 1);
