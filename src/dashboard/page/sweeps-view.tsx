/**
 * Sweeps: the progress of each, and its grid with one row per method and one column per held-out domain, whose cells
 * fill as runs finish.
 */

import type { JSX } from "preact";
import { fixedText } from "../../records/fixed-settings.js";
import { type GridCell, type RunState, runStates, type StateCounts, type SweepGrid, type SweepRow } from "../api.js";
import { counted } from "../format.js";
import { useAnswer, useChanges } from "./hooks.js";
import { store } from "./store.js";
import { Empty, filled, lines, Problem, runAddress, Scroll, StateBadge } from "./view.js";

/** The order of the states in a bar. */
const filling: readonly RunState[] = ["done", "running", "stopped", "hopeless", "cancelled", "failed", "waiting"];

export function SweepsView({ rest: asked }: { rest: string | undefined }): JSX.Element {
  useChanges(store);
  const sweeps = [...store.sweeps.values()];
  const chosen = sweeps.find(({ id }) => id === asked) ?? sweeps[0];
  if (!chosen)
    return (
      <section class="sweeps">
        <Empty
          title={store.isRead ? "No sweeps here" : "Reading the folder …"}
          words="A sweep is many runs planned at once: every method, held-out domain and trial."
          next="nudge sweep plan --help"
        />
      </section>
    );
  return (
    <section class="sweeps">
      <h1 class="visually-hidden">Sweeps</h1>
      <ul class="sweep-list">
        {sweeps.map(({ id, name, runs, counts }) => (
          <li key={id}>
            <a href={`#/sweeps/${encodeURIComponent(id)}`} aria-current={id === chosen.id ? "true" : undefined}>
              <strong>{id === "." || id === name ? name : `${name} (${id})`}</strong>
              <span class="soft">{`${counts.done.toLocaleString("en-US")} of ${counted(runs, "run")} done`}</span>
              <Bar counts={counts} total={runs} />
            </a>
          </li>
        ))}
      </ul>
      {chosen.problem !== null ? <Problem text={chosen.problem} /> : <Grid key={chosen.id} sweep={chosen} />}
    </section>
  );
}

/** The number of runs in each state, as one bar. */
function Bar({ counts, total }: { counts: StateCounts; total: number }): JSX.Element {
  const states = filling.filter((state) => counts[state] > 0);
  const words = states.map((state) => `${counts[state]} ${state}`).join(", ");
  return (
    <span class="stack" role="img" aria-label={words} title={words}>
      {states.map((state) => (
        <span key={state} class={`fill ${state}`} style={filled(counts[state] / Math.max(1, total))} />
      ))}
    </span>
  );
}

function Grid({ sweep: { id, counts } }: { sweep: SweepRow }): JSX.Element | null {
  const { answer, problem } = useAnswer<SweepGrid>("/api/sweep", { sweep: id }, JSON.stringify(counts));
  if (problem !== undefined) return <Problem text={problem} />;
  if (!answer) return null;
  const { columns, rows, protocol } = answer;
  const datasets = columns.reduce<{ name: string; span: number }[]>((spans, { dataset }) => {
    const last = spans.at(-1);
    if (last?.name === dataset) last.span++;
    else spans.push({ name: dataset, span: 1 });
    return spans;
  }, []);
  return (
    <>
      <Scroll label="Grid of the sweep">
        <table class="grid">
          <thead>
            <tr>
              <td />
              {datasets.map(({ name, span }) => (
                <th key={name} scope="colgroup" colSpan={span}>
                  {name}
                </th>
              ))}
            </tr>
            <tr>
              <th scope="col">Method</th>
              {columns.map(({ heldOut }, i) => (
                <th key={i} scope="col">
                  {heldOut}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ method, fixed, cells }) => (
              <tr key={`${method} ${fixedText(fixed)}`}>
                <th scope="row">
                  {method}
                  <span class="soft">{fixedText(fixed)}</span>
                </th>
                {cells.map((cell, i) => (
                  <Cell key={i} cell={cell} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="key">
        {runStates.map((state) => (
          <StateBadge key={state} state={state} />
        ))}
      </p>
      <details class="soft">
        <summary>Protocol of the runs</summary>
        {lines(protocol)}
      </details>
    </>
  );
}

function Cell({ cell }: { cell: GridCell | null }): JSX.Element {
  if (!cell) return <td class="none" />;
  const total = runStates.reduce((sum, state) => sum + cell.counts[state], 0);
  if (cell.runs.length === 0)
    return (
      <td>
        <Bar counts={cell.counts} total={total} />
        <span class="soft">{`${cell.counts.done} / ${total}`}</span>
      </td>
    );
  return (
    <td>
      <div class="cells">
        {cell.runs.map(([id, state, title]) => (
          <a
            key={id}
            class={`cell ${state}`}
            href={runAddress(id)}
            title={`${title}: ${state}`}
            aria-label={`${title}: ${state}`}
          />
        ))}
      </div>
    </td>
  );
}
