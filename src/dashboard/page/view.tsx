/** Components that several views use. Text from disk is always rendered as text, never as markup. */

import type { ComponentChildren, CSSProperties, JSX } from "preact";
import { useState } from "preact/hooks";
import { stateWord } from "../../sweep/run-state.js";
import type { RunRow, RunState } from "../api.js";

/** The state as text with a mark, whose shape differs as well as its color. */
export const StateBadge = ({ state }: { state: RunState }): JSX.Element => (
  <span class={`state ${state}`}>
    <span class="mark" aria-hidden="true" />
    <span>{stateWord(state)}</span>
  </span>
);

/** The address of a run's view. */
export const runAddress = (id: string): string => `#/run/${encodeURIComponent(id)}`;

/** `sketch held out`. A run without held-out domains trains the final model. */
export function heldWords({ heldOut, own, method }: RunRow): string {
  if (heldOut.length > 0) return `${heldOut.join(", ")} held out`;
  if (method === "") return "";
  return own ? "all domains (final model)" : "no domain held out";
}

/** `PACS · sketch held out · ERM-NU` */
export function runWords(row: RunRow): string {
  return row.method === "" ? row.id : `${row.method} · ${row.dataset} · ${heldWords(row)}`;
}

/** `trial 0`, `trial 2, draw 5` */
export const trialWords = ({ trial, draw }: RunRow): string => `trial ${trial}${draw > 0 ? `, draw ${draw}` : ""}`;

/** A message for an empty view: why it is empty, and what to do next. */
export const Empty = ({
  title,
  words,
  next,
}: {
  title: string;
  words: ComponentChildren;
  next?: string;
}): JSX.Element => (
  <div class="empty">
    <h2>{title}</h2>
    <p>{words}</p>
    {next !== undefined && <Command text={next} />}
  </div>
);

/** A command with a button that copies it. */
export function Command({ text }: { text: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    window.setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div class="command">
      <code>{text}</code>
      <button class="quiet" type="button" aria-label={`Copy: ${text}`} onClick={() => void copy()}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** An error message. */
export const Problem = ({ text }: { text: string }): JSX.Element => (
  <p class="problem" role="alert">
    {text}
  </p>
);

interface Choice<T extends string> {
  readonly id: T;
  readonly label: string;
  readonly title?: string;
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly Choice<T>[];
  readonly chosen: T;
  choose(id: T): void;
}

/** Radio buttons in a row. */
export function Segmented<T extends string>({ label, options, chosen, choose }: ChoiceProps<T>): JSX.Element {
  const name = `segment-${label.replace(/\W+/g, "-")}`;
  return (
    <fieldset class="segmented">
      <legend>{label}</legend>
      {options.map(({ id, label: words, title }) => (
        <label key={id} title={title}>
          <input type="radio" name={name} value={id} checked={id === chosen} onChange={() => choose(id)} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A select with its label. */
export const Select = <T extends string>({ label, options, chosen, choose }: ChoiceProps<T>): JSX.Element => (
  <label class="field">
    <span>{label}</span>
    <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value as T)}>
      {options.map(({ id, label: words }) => (
        <option key={id} value={id}>
          {words}
        </option>
      ))}
    </select>
  </label>
);

/** Sentences with `code` in backticks. */
export const inWords = (text: string): ComponentChildren =>
  text.split("`").map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part));

/** The color of a line, by index. */
export const colored = (color: number): CSSProperties => ({ "--c": `var(--s${color})` }) as CSSProperties;

/** The filled part of a bar. */
export const filled = (share: number): CSSProperties => ({ "--share": share }) as CSSProperties;

/** A sample of a line, as drawn in a chart. */
export const Sample = ({ color, dash, strong }: { color: number; dash?: boolean; strong?: boolean }): JSX.Element => (
  <span class={`sample${dash ? " dashed" : ""}${strong ? " strong" : ""}`} style={colored(color)} aria-hidden="true" />
);

/** A table that may be wider than the page; it can be scrolled with the keyboard. */
export const Scroll = ({ label, children }: { label: string; children: ComponentChildren }): JSX.Element => (
  <div class="scroll" tabIndex={0} role="region" aria-label={label}>
    {children}
  </div>
);

interface TableProps {
  readonly kind: string;
  readonly caption?: string;
  readonly head: readonly ComponentChildren[];
  /** The first cell is the name of the row; the others are elements. */
  readonly rows: readonly {
    readonly kind?: string;
    readonly name: ComponentChildren;
    readonly cells: ComponentChildren;
  }[];
  /** The columns whose headings are right-aligned, like numbers. */
  readonly numbers?: readonly number[];
}

export const Table = ({ kind, caption, head, rows, numbers = [] }: TableProps): JSX.Element => (
  <table class={kind}>
    {caption !== undefined && <caption>{caption}</caption>}
    <thead>
      <tr>
        {head.map((text, i) => (
          <th key={i} scope="col" class={numbers.includes(i) ? "number" : undefined}>
            {text}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row, i) => (
        <tr key={i} class={row.kind}>
          <th scope="row">{row.name}</th>
          {row.cells}
        </tr>
      ))}
    </tbody>
  </table>
);

/** A cell with a number, or a text about it. */
export const number = (content: ComponentChildren, kind = "number"): JSX.Element => <td class={kind}>{content}</td>;

/** Lines of text, one paragraph each. */
export const lines = (texts: readonly string[], kind?: string): JSX.Element[] =>
  texts.map((text) => (
    <p key={text} class={kind}>
      {inWords(text)}
    </p>
  ));
