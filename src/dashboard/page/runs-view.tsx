/** The list of runs: filter, sort, open, and choose for comparison. */

import type { JSX } from "preact";
import { commonFixed, fixedText } from "../../records/fixed-settings.js";
import { type RunRow, type RunState, runStates } from "../api.js";
import { counted } from "../format.js";
import { MOST_COMPARED } from "./compared.js";
import { useChanges, useKept } from "./hooks.js";
import { RunList } from "./run-list.js";
import { columns, type SortKey } from "./run-row.js";
import { store } from "./store.js";
import { Empty, StateBadge } from "./view.js";

/** Kept while other views are open. */
const kept = { text: "", states: new Set<RunState>(), sort: "at" as SortKey, descending: true };

export function RunsView(): JSX.Element {
  useChanges(store);
  const set = useKept(kept);
  const all = [...store.runs.values()];
  const words = kept.text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = all.filter((row) => fits(row, words)).sort(inOrder());
  const toggle = (state: RunState): void => {
    const states = new Set(kept.states);
    if (!states.delete(state)) states.add(state);
    set({ states });
  };
  return (
    <section class="runs">
      <h1 class="visually-hidden">Runs</h1>
      <div class="bar">
        <input
          type="search"
          placeholder="Filter by method, dataset, domain, folder …"
          aria-label="Filter runs"
          value={kept.text}
          onInput={({ currentTarget }) => set({ text: currentTarget.value })}
        />
        <div class="chips" role="group" aria-label="States">
          {runStates.map((state) => {
            const count = all.reduce((sum, row) => sum + Number(row.state === state), 0);
            const isRare = state === "hopeless" || state === "cancelled"; // only sweeps stop runs early or cancel them
            return (
              <button
                key={state}
                type="button"
                class="chip"
                aria-pressed={kept.states.has(state)}
                hidden={isRare && count === 0}
                onClick={() => toggle(state)}
              >
                <StateBadge state={state} />
                <span class="count">{count}</span>
              </button>
            );
          })}
        </div>
      </div>
      <p class="soft" role="status">
        {summary(all.length, rows.length)}
      </p>
      <RunList rows={rows} common={commonFixed(all.map(({ fixed }) => fixed))} hidden={all.length === 0}>
        <div class="head" role="row" aria-rowindex={1}>
          <div role="columnheader" class="pick">
            <span class="visually-hidden">Compare</span>
          </div>
          {columns.map(({ key, label, kind, title }) => {
            const sorted = kept.sort === key;
            return (
              <div
                key={key}
                role="columnheader"
                class={kind}
                aria-sort={!sorted ? "none" : kept.descending ? "descending" : "ascending"}
              >
                <button
                  type="button"
                  title={title}
                  onClick={() => set({ sort: key, descending: sorted ? !kept.descending : kind === "number" })}
                >
                  {label}
                </button>
              </div>
            );
          })}
        </div>
      </RunList>
      <div>{rows.length === 0 && <Nothing all={all.length} />}</div>
    </section>
  );
}

function summary(all: number, shown: number): string {
  const { read, found } = store.progress;
  if (all === 0) return store.isRead ? "" : "Reading the folder …";
  const reading = read < found ? ` Reading: ${read.toLocaleString("en-US")} of ${found.toLocaleString("en-US")}.` : "";
  const which = shown === all ? counted(all, "run") : `${counted(shown, "run")} of ${all.toLocaleString("en-US")}`;
  return `${which}. Accuracy is in percent. Select up to ${MOST_COMPARED} to compare; Enter opens a run.${reading}`;
}

function Nothing({ all }: { all: number }): JSX.Element | null {
  if (all > 0) return <Empty title="No matching runs" words="Remove a word or a state from the filter above." />;
  if (!store.isRead) return null;
  return (
    <Empty
      title="No runs here yet"
      words={[
        "This page shows runs as soon as something trains in ",
        <code key="">{store.folder}</code>,
        ". For a first run, on generated pictures:",
      ]}
      next={`nudge train --data shapes --test-domain outlined --backbone small-cnn --steps 301 --eval-every 20 --out ${store.typed}`}
    />
  );
}

const textOf = new WeakMap<RunRow, string>();

/** Whether every word of the filter occurs in the text of the row. */
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
    // Rows without a value come last in both directions.
    if (x === null || y === null) return x === y ? byId(a, b) : x === null ? 1 : -1;
    return x === y ? byId(a, b) : sign * (x < y ? -1 : 1);
  };
}

const byId = (a: RunRow, b: RunRow): number => (a.id < b.id ? -1 : 1);
