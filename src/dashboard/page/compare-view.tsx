/** Several runs in one chart, and a table of the settings in which they differ. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunCurves, RunDetails, RunRow } from "../api.js";
import { meanPoints, metricTitle } from "../curve-points.js";
import { percent, short } from "../format.js";
import { Chart, type ChartSeries } from "./chart.js";
import { compared } from "./compared.js";
import { useAnswer, useChanges, useKept } from "./hooks.js";
import { store } from "./store.js";
import {
  Empty,
  number,
  runAddress,
  runWords,
  Sample,
  Segmented,
  Select,
  StateBadge,
  Table,
  trialWords,
} from "./view.js";

interface Chosen {
  readonly row: RunRow;
  readonly color: number;
}

interface Loaded extends Chosen {
  readonly curves: RunCurves;
}

/** Kept while other views are open. */
const kept = { metric: "accuracy", where: "held out", split: "reported" };

/** The responses of the server for the chosen runs, by id. */
interface Known {
  readonly curves?: RunCurves;
  readonly details?: RunDetails;
}

export function CompareView(): JSX.Element {
  useChanges(store, compared);
  const [known, setKnown] = useState<Readonly<Record<string, Known>>>({});
  const chosen = compared.list().flatMap(({ id, color }): Chosen[] => {
    const row = store.runs.get(id);
    return row ? [{ row, color }] : [];
  });
  if (chosen.length === 0)
    return (
      <section class="compare">
        <Empty
          title="Nothing to compare yet"
          words={[
            "Select runs with their check boxes in the ",
            <a key="" href="#/">
              list of runs
            </a>,
            ", or with Space on a row.",
          ]}
        />
      </section>
    );
  const loaded = chosen.flatMap((each): Loaded[] => {
    const { curves } = known[each.row.id] ?? {};
    return curves ? [{ ...each, curves }] : [];
  });
  return (
    <section class="compare">
      <h1 class="visually-hidden">Compare</h1>
      {chosen
        .filter(({ row }) => row.state !== "waiting")
        .map(({ row }) => (
          <Loader key={row.id} row={row} take={(news) => setKnown((before) => ({ ...before, [row.id]: news }))} />
        ))}
      <Comparison loaded={loaded} />
      <div class="scroll">
        <Differences chosen={chosen} known={known} />
      </div>
    </section>
  );
}

/** Requests the curves and settings of a run whenever it has progressed. */
function Loader({ row, take }: { row: RunRow; take(known: Known): void }): null {
  const version = `${row.step} ${row.state}`;
  const { answer: curves } = useAnswer<RunCurves>("/api/curves", { run: row.id }, version);
  const { answer: details } = useAnswer<RunDetails>("/api/run", { run: row.id }, "once");
  useEffect(() => take({ curves, details }), [curves, details]);
  return null;
}

function Comparison({ loaded }: { loaded: readonly Loaded[] }): JSX.Element {
  const set = useKept(kept);
  const curves = loaded.flatMap((each) => each.curves.curves);
  const metrics = [...new Set(curves.map(({ metric }) => metric))];
  if (metrics.length > 0 && !metrics.includes(kept.metric)) kept.metric = metrics[0];
  const domains = [...new Set(curves.filter(({ metric }) => metric === kept.metric).map(({ domain }) => domain))];
  const where = [
    { id: "held out", label: "held-out domains, mean" },
    { id: "training", label: domains.includes(null) ? "training domains together" : "training domains, mean" },
    ...domains.flatMap((domain) => (domain === null ? [] : [{ id: `=${domain}`, label: domain }])),
  ];
  if (metrics.length > 0 && !where.some(({ id }) => id === kept.where)) kept.where = "held out";
  const isPercent = kept.metric === "accuracy";
  return (
    <>
      <div class="bar">
        <Select
          label="Metric"
          options={metrics.map((id) => ({ id, label: metricTitle(id) }))}
          chosen={kept.metric}
          choose={(metric) => set({ metric })}
        />
        <Select label="On" options={where} chosen={kept.where} choose={(id) => set({ where: id })} />
        <Segmented
          label="Split"
          options={[
            { id: "reported", label: "as reported", title: "in of held-out domains, out of the others" },
            { id: "in", label: "in" },
            { id: "out", label: "out" },
          ]}
          chosen={kept.split}
          choose={(split) => set({ split })}
        />
        <span class="push" />
        <button type="button" class="quiet" onClick={() => compared.clear()}>
          Clear
        </button>
      </div>
      <Chart
        key={kept.metric}
        title={metricTitle(kept.metric)}
        xLabel="step"
        yLabel={isPercent ? "%" : ""}
        format={isPercent ? (value) => value.toFixed(1) : short}
        large
        series={loaded.flatMap((each) => seriesOf(each, isPercent ? 100 : 1))}
      />
    </>
  );
}

/** One row per run, and one column per setting that differs. */
function Differences({
  chosen,
  known,
}: {
  chosen: readonly Chosen[];
  known: Readonly<Record<string, Known>>;
}): JSX.Element {
  const flat = chosen.map(({ row }) => flatten(known[row.id]?.details?.settings ?? {}));
  const names = [...new Set(flat.flatMap((each) => [...each.keys()]))].filter(
    (name) => new Set(flat.map((each) => each.get(name))).size > 1,
  );
  return (
    <Table
      kind="plain"
      caption={names.length > 0 ? "The runs and the settings in which they differ" : "The runs"}
      head={["Run", "State", "Step", "Validation", "Held out", ...names]}
      numbers={[2, 3, 4]}
      rows={chosen.map(({ row, color }, i) => ({
        name: (
          <>
            <Sample color={color} strong />
            <a href={runAddress(row.id)}>{runWords(row)}</a> <span class="soft">{trialWords(row)}</span>
          </>
        ),
        cells: [
          number(<StateBadge state={row.state} />, ""),
          ...[row.step ?? "–", percent(row.validation), percent(row.test)].map((value) => number(value)),
          ...names.map((name) => <td key={name}>{flat[i].get(name) ?? "–"}</td>),
        ],
      }))}
    />
  );
}

function seriesOf({ row, color, curves }: Loaded, scale: number): ChartSeries[] {
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
  // Measures of features and training losses have only one split, or none, which is used then.
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

/** Settings by dotted names, without those that only identify the run or repeat others. */
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
