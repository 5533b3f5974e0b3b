/** One row of the list of runs, and the columns it has. */

import {
  commonFixed,
  type FixedSettings,
  fixedText,
  NOTHING_FIXED,
  pickFixed,
  withoutFixed,
} from "../../records/fixed-settings.js";
import { FITTED, fittedName } from "../../report/fitted-settings.js";
import { stateWord } from "../../sweep/run-state.js";
import { type RunRow, runStates } from "../api.js";
import { ago, percent, roughly } from "../format.js";
import { progressOf } from "../progress.js";
import { compared, MOST_COMPARED } from "./compared.js";
import { h, setText } from "./dom.js";
import { heldWords, runAddress, trialWords } from "./view.js";
import type { ListRow } from "./virtual-list.js";

export type SortKey = "state" | "method" | "dataset" | "progress" | "validation" | "test" | "at";

interface Column {
  readonly key: SortKey;
  readonly label: string;
  readonly title: string;
  readonly kind: "text" | "number" | "wide";
  /** What it is sorted by; null comes last. */
  value(row: RunRow): number | string | null;
}

/** Of a model for use, what to plan with on a new domain. */
const heldOutAccuracy = ({ test, expected }: RunRow): number | null => expected?.lowest ?? test;

const WHEN = "at the last evaluation; of finished runs on own pictures that of the run's model, as its report has it";

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
    title: `Accuracy (%) on held-back pictures of the training domains, ${WHEN}`,
    kind: "number",
    value: ({ validation }) => validation,
  },
  {
    key: "test",
    label: "Held out",
    title: `Accuracy (%) on the held-out domains, ${WHEN}; of a model for use the lowest that runs like it found on a domain they held out`,
    kind: "number",
    value: heldOutAccuracy,
  },
  { key: "at", label: "Changed", title: "Sort by the time of the last change", kind: "number", value: ({ at }) => at },
];

/** Settings made by hand that all runs share: they tell no row from another, so rows leave them out. */
let common: FixedSettings = NOTHING_FIXED;

/** Finds what was set by hand in all of some runs alike. */
export function findCommon(rows: readonly RunRow[]): void {
  common = commonFixed(rows.map(({ fixed }) => fixed));
}

/** What was set by hand in this run and not in all; on own pictures not what the program fitted to their folder either. */
const ownFixed = ({ fixed, own }: RunRow): string =>
  fixedText(pickFixed(withoutFixed(fixed, common), (name) => !(own && FITTED.includes(fittedName(name)))));

/** Makes the row of a run; it is brought up to date in place. */
export function makeRunRow(first: RunRow): ListRow<RunRow> {
  const { id } = first;
  const pick = h("input", {
    type: "checkbox",
    tabindex: -1,
    "aria-label": "Compare this run",
    on: {
      change: () => {
        if (!compared.toggle(id)) pick.checked = false;
      },
    },
  });
  const word = h("span", {});
  const state = h("span", {}, h("span", { class: "mark", "aria-hidden": "true" }), word);
  const method = h("a", { href: runAddress(id), tabindex: -1 });
  const trial = h("span", { class: "soft" });
  const dataset = h("span", {});
  const held = h("span", { class: "soft" });
  const fill = h("span", { class: "fill" });
  const step = h("span", {});
  const left = h("span", { class: "soft" });
  const [validation, test, at] = [h("span", {}), h("span", {}), h("span", { class: "soft" })];
  const cell = (kind: string, ...children: Node[]): HTMLElement =>
    h("div", { role: "gridcell", class: kind }, ...children);
  const root = h(
    "div",
    { class: "row" },
    cell("pick", h("label", {}, pick)),
    cell("text", state),
    cell("text two", method, trial),
    cell("text two", dataset, held),
    cell("wide", h("span", { class: "meter" }, fill), h("span", { class: "two" }, step, left)),
    cell("number", validation),
    cell("number", test),
    cell("number", at),
  );
  const update = (row: RunRow): void => {
    const now = Date.now();
    const progress = progressOf(row, now);
    pick.checked = compared.has(id);
    pick.title = pick.checked ? "Take out of the comparison" : `Compare (up to ${MOST_COMPARED})`;
    state.className = `state ${row.state}`;
    root.title = row.problem ?? row.id;
    root.classList.toggle("picked", pick.checked);
    root.setAttribute("aria-selected", String(pick.checked));
    setText(word, stateWord(row.state));
    setText(method, row.method || row.id);
    setText(trial, [trialWords(row), ownFixed(row)].filter(Boolean).join(" · "));
    setText(dataset, row.dataset);
    setText(held, heldWords(row));
    fill.style.setProperty("--share", String(progress.share ?? 0));
    fill.className = `fill ${row.state}`;
    setText(
      step,
      `${progress.step.toLocaleString("en-US")}${row.steps ? ` / ${row.steps.toLocaleString("en-US")}` : ""}`,
    );
    setText(left, progress.left !== null && row.state === "running" ? `≈ ${roughly(progress.left)} left` : "");
    setText(validation, percent(row.validation));
    setText(test, percent(heldOutAccuracy(row)));
    test.title = row.expected
      ? `Estimate: the lowest of the held-out domains, ${row.expected.domain}; the mean is ${percent(row.expected.mean)}`
      : "";
    setText(at, row.at === null ? "–" : ago(now - row.at));
  };
  return { root, update };
}
