/** One run: progress, curves, features, mistakes, settings and log, updated during training. */

import type { JSX } from "preact";
import { fixedText } from "../../records/fixed-settings.js";
import type { RunCurves, RunDetails, RunRow } from "../api.js";
import { ago, duration, percent } from "../format.js";
import { progressOf } from "../progress.js";
import { compared, MOST_COMPARED } from "./compared.js";
import { useAnswer, useChanges, useSeconds } from "./hooks.js";
import { Mistakes } from "./mistakes.js";
import { CurveCharts, FeatureCharts } from "./run-charts.js";
import { Log, Settings } from "./run-facts.js";
import { store } from "./store.js";
import { Tabs } from "./tabs.js";
import { Command, Empty, filled, Problem, runWords, StateBadge, trialWords } from "./view.js";

export function RunView({ rest: id = "" }: { rest: string | undefined }): JSX.Element {
  useChanges(store);
  const row = store.runs.get(id);
  return <section class="run">{row && row.state !== "waiting" ? <Begun row={row} /> : <NotThere id={id} />}</section>;
}

function NotThere({ id }: { id: string }): JSX.Element {
  const row = store.runs.get(id);
  if (row)
    return (
      <>
        <Header row={row} />
        <Empty title="Not started yet" words="Its sweep will create the folder." />
      </>
    );
  return (
    <>
      <header class="run-header">
        <h1>{id}</h1>
      </header>
      {store.isRead ? (
        <Empty
          title="No such run"
          words={[
            "It was removed, or was never in this folder. ",
            <a key="" href="#/">
              All runs
            </a>,
          ]}
        />
      ) : (
        <p class="soft">Reading the folder …</p>
      )}
    </>
  );
}

function Begun({ row }: { row: RunRow }): JSX.Element {
  const version = `${row.state} ${row.step} ${row.at} ${row.problem} ${row.expected?.lowest}`;
  const { answer: details, problem } = useAnswer<RunDetails>("/api/run", { run: row.id }, version);
  const { answer: curves } = useAnswer<RunCurves>("/api/curves", { run: row.id }, version);
  return (
    <>
      <Header row={row} details={details} />
      {problem !== undefined && <Problem text={problem} />}
      {details && curves && (
        <Tabs
          label="Parts of this run"
          tabs={[
            { id: "curves", label: "Curves", content: <CurveCharts row={row} data={curves} /> },
            { id: "features", label: "Features", content: <FeatureCharts data={curves} /> },
            { id: "mistakes", label: "Mistakes", content: <Mistakes run={row.id} assessment={details.assessment} /> },
            { id: "settings", label: "Settings", content: <Settings {...details} /> },
            { id: "log", label: "Log", content: <Log {...details} /> },
          ]}
        />
      )}
    </>
  );
}

function Header({ row, details }: { row: RunRow; details?: RunDetails }): JSX.Element {
  useSeconds();
  useChanges(compared);
  const chosen = compared.has(row.id);
  const canGoOn = !["done", "running", "waiting"].includes(row.state);
  return (
    <header class="run-header">
      <div class="bar">
        <h1>{runWords(row)}</h1>
        <StateBadge state={row.state} />
        <span class="push" />
        <button
          type="button"
          class="toggle"
          aria-pressed={chosen}
          title={`Up to ${MOST_COMPARED} runs`}
          onClick={() => void compared.toggle(row.id)}
        >
          {chosen ? "In the comparison" : "Compare"}
        </button>
      </div>
      <p class="soft">{[trialWords(row), fixedText(row.fixed), row.id].filter(Boolean).join(" · ")}</p>
      <div class="numbers">
        <div class="meter">
          <span class={`fill ${row.state}`} style={filled(progressOf(row, Date.now()).share ?? 0)} />
        </div>
        <p class="progress-words">{progressWords(row)}</p>
      </div>
      <dl class="big">
        {numbersOf(row).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {percent(value)}
              <small> %</small>
            </dd>
          </div>
        ))}
      </dl>
      {row.problem !== null && <Problem text={row.problem} />}
      {canGoOn && details && !details.packed && <Command text={`nudge train --resume ${details.folder}`} />}
    </header>
  );
}

/** For a final model, the expected accuracy on a new domain; for other runs, the accuracy on the held-out domains. */
function numbersOf({ expected, test, validation, assessed }: RunRow): [label: string, value: number | null][] {
  const held: [string, number | null][] = expected
    ? [
        [`New domain, estimate: lowest (${expected.domain})`, expected.lowest],
        ["New domain, estimate: mean", expected.mean],
      ]
    : [[assessed ? "Held out, all pictures" : "Held out, last evaluation", test]];
  return [...held, [assessed ? "Validation" : "Validation, last evaluation", validation]];
}

/** `step 120 of 301 · ≈ 2 min left · evaluated 8 s ago` */
function progressWords(row: RunRow): string {
  const { step, left } = progressOf(row, Date.now());
  const of = row.steps ? ` of ${row.steps.toLocaleString("en-US")}` : "";
  const parts = [`step ${step.toLocaleString("en-US")}${of}`];
  if (row.state === "running" && left !== null) parts.push(`≈ ${duration(left)} left`);
  if (row.secondsPerStep !== null) parts.push(`${rate(row.secondsPerStep)}`);
  if (row.at !== null) parts.push(`last evaluated ${ago(Date.now() - row.at)}`);
  return parts.join(" · ");
}

const rate = (seconds: number): string =>
  seconds < 1 ? `${(1 / seconds).toFixed(1)} steps per second` : `${seconds.toFixed(1)} s per step`;
