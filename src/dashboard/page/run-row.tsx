/** A row of the list of runs, and its columns. */

import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { type FixedSettings, fixedText, pickFixed, withoutFixed } from "../../records/fixed-settings.js";
import { FITTED, fittedName } from "../../report/fitted-settings.js";
import { type RunRow, runStates } from "../api.js";
import { ago, percent, roughly } from "../format.js";
import { progressOf } from "../progress.js";
import { compared, MOST_COMPARED } from "./compared.js";
import { filled, heldWords, runAddress, StateBadge, trialWords } from "./view.js";

export type SortKey = "state" | "method" | "dataset" | "progress" | "validation" | "test" | "at";

interface Column {
  readonly key: SortKey;
  readonly label: string;
  readonly title: string;
  readonly kind: "text" | "number" | "wide";
  /** The value for sorting; null comes last. */
  value(row: RunRow): number | string | null;
}

/** For a final model, the accuracy to plan with on a new domain. */
const heldOutAccuracy = ({ test, expected }: RunRow): number | null => expected?.lowest ?? test;

const WHEN = "at the last evaluation; for finished runs on own pictures, that of the final model, as in its report";

export const columns: readonly Column[] = [
  {
    key: "state",
    label: "State",
    title: "Sort by state",
    kind: "text",
    value: ({ state }) => runStates.indexOf(state),
  },
  { key: "method", label: "Method", title: "Sort by method", kind: "text", value: ({ method }) => method },
  {
    key: "dataset",
    label: "Dataset, held out",
    title: "Sort by dataset and held-out domain",
    kind: "text",
    value: ({ dataset, heldOut }) => `${dataset} ${heldOut.join(" ")}`,
  },
  {
    key: "progress",
    label: "Progress",
    title: "Sort by progress",
    kind: "wide",
    value: (row) => progressOf(row, Date.now()).share,
  },
  {
    key: "validation",
    label: "Validation",
    title: `Accuracy (%) on validation pictures of the training domains, ${WHEN}`,
    kind: "number",
    value: ({ validation }) => validation,
  },
  {
    key: "test",
    label: "Held out",
    title: `Accuracy (%) on the held-out domains, ${WHEN}; for a final model, the lowest accuracy of runs like it on their held-out domains`,
    kind: "number",
    value: heldOutAccuracy,
  },
  { key: "at", label: "Changed", title: "Sort by the time of the last change", kind: "number", value: ({ at }) => at },
];

/**
 * The explicit settings of this run that not all runs have; for own pictures, without those that the program fitted to
 * their folder.
 */
const ownFixed = ({ fixed, own }: RunRow, common: FixedSettings): string =>
  fixedText(pickFixed(withoutFixed(fixed, common), (name) => !(own && FITTED.includes(fittedName(name)))));

/** The cells of a run's row. */
export function RunCells({ row, common }: { row: RunRow; common: FixedSettings }): JSX.Element {
  const { id, steps, expected, at } = row;
  const now = Date.now();
  const { step, share, left } = progressOf(row, now);
  const picked = compared.has(id);
  const pick = (event: TargetedEvent<HTMLInputElement>): void => {
    if (!compared.toggle(id)) event.currentTarget.checked = false;
  };
  const estimate = expected && `${expected.domain}; the mean is ${percent(expected.mean)}`;
  return (
    <>
      <Cell kind="pick">
        <label>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label="Compare this run"
            title={picked ? "Remove from the comparison" : `Compare (up to ${MOST_COMPARED})`}
            checked={picked}
            onChange={pick}
          />
        </label>
      </Cell>
      <Cell kind="text">
        <StateBadge state={row.state} />
      </Cell>
      <Cell kind="text two">
        <a href={runAddress(id)} tabIndex={-1}>
          {row.method || id}
        </a>
        <span class="soft">{[trialWords(row), ownFixed(row, common)].filter(Boolean).join(" · ")}</span>
      </Cell>
      <Cell kind="text two">
        <span>{row.dataset}</span>
        <span class="soft">{heldWords(row)}</span>
      </Cell>
      <Cell kind="wide">
        <span class="meter">
          <span class={`fill ${row.state}`} style={filled(share ?? 0)} />
        </span>
        <span class="two">
          <span>{`${step.toLocaleString("en-US")}${steps ? ` / ${steps.toLocaleString("en-US")}` : ""}`}</span>
          <span class="soft">{left !== null && row.state === "running" ? `≈ ${roughly(left)} left` : ""}</span>
        </span>
      </Cell>
      <Cell kind="number">{percent(row.validation)}</Cell>
      <Cell kind="number" title={estimate ? `Estimate: the lowest of the held-out domains, ${estimate}` : ""}>
        {percent(heldOutAccuracy(row))}
      </Cell>
      <Cell kind="number">
        <span class="soft">{at === null ? "–" : ago(now - at)}</span>
      </Cell>
    </>
  );
}

const Cell = ({
  kind,
  title,
  children,
}: {
  kind: string;
  title?: string;
  children: ComponentChildren;
}): JSX.Element => (
  <div role="gridcell" class={kind} title={title}>
    {children}
  </div>
);
