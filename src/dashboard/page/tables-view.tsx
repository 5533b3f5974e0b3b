/**
 * The tables of the report over all runs or one sweep, with a choice of the selection rule. They are updated as runs
 * progress.
 */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CellText, ReportData, TableData } from "../api.js";
import { counted } from "../format.js";
import { DifferenceChart } from "./difference-chart.js";
import { useAnswer, useKept } from "./hooks.js";
import { store } from "./store.js";
import { Empty, lines, Problem, Scroll, Segmented, Select, Table } from "./view.js";
import { WeightCharts } from "./weight-charts.js";

/** The milliseconds between two updates during training, because tables need all runs. */
const EVERY_MS = 3_000;

/** The number of notes that are shown without a click. */
const FEW_NOTES = 4;

/** Kept while other views are open. */
const kept = { selection: "training-domain", published: false, sweep: "" };

const shortRule: Readonly<Record<string, string>> = {
  "training-domain": "training domains",
  "leave-one-domain-out": "leave one domain out",
  oracle: "oracle",
};

export function TablesView(): JSX.Element {
  const set = useKept(kept);
  const version = useLooks();
  const { selection, published, sweep } = kept;
  const query = { selection, ...(published && { published: "1" }), ...(sweep && { sweep }) };
  const { answer: report, problem, isOld } = useAnswer<ReportData>("/api/report", query, version);
  const sweeps = [
    { id: "", label: "all runs" },
    ...Array.from(store.sweeps.values(), ({ id, name }) => ({ id, label: name })),
  ];
  return (
    <section class="tables">
      <h1 class="visually-hidden">Tables</h1>
      <div class="bar">
        {report && (
          <>
            <Segmented
              label="Selection"
              options={report.selections.map(({ id, title, about }) => ({
                ...{ id, label: shortRule[id] ?? title, title: about },
              }))}
              chosen={selection}
              choose={(id) => set({ selection: id })}
            />
            <label class="check">
              <input
                type="checkbox"
                checked={published}
                onChange={({ currentTarget }) => set({ published: currentTarget.checked })}
              />
              published numbers
            </label>
            {sweeps.length > 1 && (
              <Select label="Runs" options={sweeps} chosen={sweep} choose={(id) => set({ sweep: id })} />
            )}
          </>
        )}
      </div>
      <div aria-live="off" class={isOld && report ? "stale" : undefined}>
        {problem !== undefined ? (
          <Problem text={problem} />
        ) : report ? (
          <Report {...report} />
        ) : (
          <p class="soft">Computing the tables …</p>
        )}
      </div>
    </section>
  );
}

/** A number that increases after runs have changed, at most every few seconds. */
function useLooks(): number {
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    let [timer, last]: [number | undefined, number] = [undefined, Date.now()];
    const end = store.subscribe(() => {
      timer ??= window.setTimeout(
        () => {
          [timer, last] = [undefined, Date.now()];
          setLooks((count) => count + 1);
        },
        Math.max(0, last + EVERY_MS - Date.now()),
      );
    });
    return () => {
      end();
      window.clearTimeout(timer);
    };
  }, []);
  return looks;
}

function Report({ runs, tables, models, comparisons, weights, notes }: ReportData): JSX.Element {
  if (tables.length === 0 && models.length === 0)
    return (
      <Empty
        title="No tables yet"
        words="A table needs a run that has been evaluated at least once."
        next="nudge train --help"
      />
    );
  return (
    <>
      <p class="soft">{`${counted(runs, "run")}. Bold: best; underlined: second best; (n/m): n of m trials.`}</p>
      {tables.map((table) => (
        <TableSection key={table.id} {...table} />
      ))}
      {models.map(({ title, words, head, rows }) => (
        <section key={title}>
          <h2>{title}</h2>
          <Scroll label={title}>
            <Table
              kind="plain models"
              head={head}
              rows={rows.map(([name, ...cells]) => ({ name, cells: cells.map((text) => <td key={text}>{text}</td>) }))}
            />
          </Scroll>
          {lines(words, "soft words")}
        </section>
      ))}
      {comparisons.map((comparison) => (
        <DifferenceChart key={`${comparison.first} ${comparison.second}`} {...comparison} />
      ))}
      {weights.map((study) => (
        <WeightCharts key={study.title} {...study} />
      ))}
      {notes.length > 0 && (
        <section>
          <h2>Notes and exclusions</h2>
          <Notes notes={notes} folded={notes.length > FEW_NOTES} />
        </section>
      )}
    </>
  );
}

function TableSection({ title, words, columns, rows, notes }: TableData): JSX.Element {
  return (
    <section>
      <h2>{title}</h2>
      <Scroll label={`Table ${title}`}>
        <Table
          kind="report"
          head={["Method", ...columns]}
          rows={rows.map(({ title: name, kind, cells }) => ({ name, kind, cells: cells.map(tableCell) }))}
        />
      </Scroll>
      {notes.length > 0 && <Notes notes={notes} numbered open={notes.length <= FEW_NOTES} folded />}
      <details class="soft">
        <summary>Protocol</summary>
        {lines(words)}
      </details>
    </section>
  );
}

const tableCell = ({ text, mark, partial, note }: CellText, i: number): JSX.Element => (
  <td key={i} class={mark ?? undefined}>
    {text || "–"}
    {partial !== null && ` (${partial})`}
    {note !== null && <sup>{note}</sup>}
  </td>
);

interface NotesProps {
  readonly notes: readonly string[];
  readonly numbered?: boolean;
  /** Whether the notes are collapsed behind their number, and whether they start open. */
  readonly folded: boolean;
  readonly open?: boolean;
}

function Notes({ notes, numbered, folded, open }: NotesProps): JSX.Element {
  const items = notes.map((note) => <li key={note}>{note}</li>);
  const list = numbered ? <ol class="notes">{items}</ol> : <ul class="notes">{items}</ul>;
  if (!folded) return list;
  return (
    <details class="soft" open={open}>
      <summary>{counted(notes.length, "note")}</summary>
      {list}
    </details>
  );
}
