/** What every view is, and the pieces that several of them show. */

import { stateWord } from "../../sweep/run-state.js";
import type { RunRow, RunState } from "../api.js";
import { type Child, h } from "./dom.js";

/** A view fills the page's main part until it is closed. */
export interface View {
  readonly title: string;
  readonly root: HTMLElement;
  close(): void;
}

/** The state in a word with its mark; the mark's shape tells it as well as its colour. */
export const stateBadge = (state: RunState): HTMLElement =>
  h("span", { class: `state ${state}` }, h("span", { class: "mark", "aria-hidden": "true" }), stateWord(state));

/** The address of a run's view. */
export const runAddress = (id: string): string => `#/run/${encodeURIComponent(id)}`;

/** `sketch held out`; a run that holds nothing out makes the model to use. */
export function heldWords({ heldOut, own, method }: RunRow): string {
  if (heldOut.length > 0) return `${heldOut.join(", ")} held out`;
  if (method === "") return "";
  return own ? "all domains: a model to use" : "nothing held out";
}

/** `PACS · sketch held out · ERM-NU` */
export function runWords(row: RunRow): string {
  return row.method === "" ? row.id : `${row.method} · ${row.dataset} · ${heldWords(row)}`;
}

/** `trial 0`, `trial 2, draw 5` */
export const trialWords = ({ trial, draw }: RunRow): string => `trial ${trial}${draw > 0 ? `, draw ${draw}` : ""}`;

/** What is shown where there is nothing: why, and what to do next. */
export function emptyState(title: string, ...children: Child[]): HTMLElement {
  return h("div", { class: "empty" }, h("h2", {}, title), ...children);
}

/** A command to type, with a button that copies it. */
export function command(text: string): HTMLElement {
  const button = h(
    "button",
    {
      class: "quiet",
      type: "button",
      "aria-label": `Copy: ${text}`,
      on: {
        click: () => {
          void navigator.clipboard.writeText(text).then(() => {
            button.textContent = "Copied";
            window.setTimeout(() => {
              button.textContent = "Copy";
            }, 1_500);
          });
        },
      },
    },
    "Copy",
  );
  return h("div", { class: "command" }, h("code", {}, text), button);
}

/** What went wrong, in words. */
export const problem = (text: string): HTMLElement => h("p", { class: "problem", role: "alert" }, text);

/** Radio buttons in a row. */
export function segmented<T extends string>(
  legend: string,
  options: readonly { readonly id: T; readonly label: string; readonly title?: string }[],
  chosen: T,
  choose: (id: T) => void,
): HTMLElement {
  const name = `segment-${legend.replace(/\W+/g, "-")}`;
  return h(
    "fieldset",
    { class: "segmented" },
    h("legend", {}, legend),
    ...options.map(({ id, label, title }) =>
      h(
        "label",
        { title },
        h("input", { type: "radio", name, value: id, checked: id === chosen, on: { change: () => choose(id) } }),
        h("span", {}, label),
      ),
    ),
  );
}

/** A select with its label. */
export function select<T extends string>(
  label: string,
  options: readonly { readonly id: T; readonly label: string }[],
  chosen: T,
  choose: (id: T) => void,
): HTMLElement {
  const list = h(
    "select",
    { on: { change: () => choose(list.value as T) } },
    ...options.map(({ id, label: words }) => h("option", { value: id, selected: id === chosen }, words)),
  );
  return h("label", { class: "field" }, h("span", {}, label), list);
}
