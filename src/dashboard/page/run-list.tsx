/**
 * The list of runs. Only the visible rows are rendered, so ten thousand runs cost no more than thirty. All rows have
 * the same height; rows that stay visible keep their elements, so that focus and hover are not lost on updates.
 */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { FixedSettings } from "../../records/fixed-settings.js";
import type { RunRow } from "../api.js";
import { compared } from "./compared.js";
import { useAgain, useChanges, useSeconds } from "./hooks.js";
import { RunCells } from "./run-row.js";
import { runAddress } from "./view.js";

/** The number of rows rendered beyond both edges, so that fast scrolling shows no gaps. */
const BEYOND = 6;

interface ListProps {
  readonly rows: readonly RunRow[];
  /** The explicit settings of all runs. */
  readonly common: FixedSettings;
  readonly hidden: boolean;
  /** The row of headers. */
  readonly children: ComponentChildren;
}

const open = ({ id }: RunRow): void => {
  location.hash = runAddress(id);
};

export function RunList({ rows, common, hidden, children }: ListProps): JSX.Element {
  useSeconds();
  useChanges(compared);
  const again = useAgain();
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const observer = new ResizeObserver(again);
    observer.observe(root.current!);
    return () => observer.disconnect();
  }, []);

  // The row that Tab selects stays the same run when it moves, and the same position when the run is removed.
  const active = useRef({ place: 0, id: "" });
  const found = rows.findIndex(({ id }) => id === active.current.id);
  const place = found >= 0 ? found : Math.min(active.current.place, Math.max(0, rows.length - 1));
  active.current = { place, id: rows[place]?.id ?? "" };
  const focusSoon = useRef(false);
  const focused = root.current?.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
  useLayoutEffect(() => {
    // A row that was moved in the document has lost the focus.
    const wanted = focusSoon.current ? root.current!.querySelector<HTMLElement>('.row[tabindex="0"]') : focused;
    focusSoon.current = false;
    if (wanted?.isConnected && wanted !== document.activeElement) wanted.focus({ preventScroll: true });
  });

  const height = root.current ? rowHeight(root.current) : 0;
  const { scrollTop = 0, clientHeight = 0 } = root.current ?? {};
  const first = Math.max(0, Math.floor(scrollTop / height) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((scrollTop + clientHeight) / height) + BEYOND);
  const inSight = height > 0 ? rows.slice(first, last).map((row, i) => ({ row, i: first + i })) : [];

  const focusOn = (i: number): void => {
    if (rows.length === 0) return;
    const to = Math.min(rows.length - 1, Math.max(0, i));
    active.current = { place: to, id: rows[to].id };
    const list = root.current!;
    const room = list.clientHeight - height; // the header stays at the top
    if (to * height < list.scrollTop) list.scrollTop = to * height;
    else if ((to + 1) * height > list.scrollTop + room) list.scrollTop = (to + 1) * height - room;
    focusSoon.current = true;
    again();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!(event.target instanceof HTMLElement) || event.target.getAttribute("role") !== "row") return;
    const page = Math.max(1, Math.floor(root.current!.clientHeight / height) - 2);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: rows.length - 1,
    };
    if (Object.hasOwn(moves, event.key)) focusOn(moves[event.key]);
    else if (event.key === "Enter") open(rows[place]);
    else if (event.key === " ") compared.toggle(rows[place].id);
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent, row: RunRow): void => {
    // Links and checkboxes in a row keep their function; a click elsewhere in the row opens the run.
    if (!(event.target as Element).closest("a, button, input, label")) open(row);
  };
  return (
    <div
      class="list"
      ref={root}
      role="grid"
      aria-multiselectable={true}
      aria-label="Runs"
      aria-rowcount={rows.length + 1}
      hidden={hidden}
      onKeyDown={onKey}
      onScroll={again}
    >
      {children}
      <div class="rows" role="rowgroup" style={{ height: `${rows.length * height}px` }}>
        {inSight.map(({ row, i }) => (
          <div
            key={row.id}
            class={compared.has(row.id) ? "row picked" : "row"}
            role="row"
            aria-rowindex={i + 2}
            aria-selected={compared.has(row.id)}
            tabIndex={i === place ? 0 : -1}
            title={row.problem ?? row.id}
            style={{ transform: `translateY(${i * height}px)` }}
            onClick={(event) => onClick(event, row)}
          >
            <RunCells row={row} common={common} />
          </div>
        ))}
      </div>
    </div>
  );
}

/** The height of a row in pixels according to the style, which depends on the font size of the user. */
function rowHeight(list: HTMLElement): number {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Number.parseFloat(getComputedStyle(list).getPropertyValue("--row")) * rem;
}
