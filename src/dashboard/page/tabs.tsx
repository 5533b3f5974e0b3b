/** Tabs of a view, with arrow keys to move between them. The selected tab is remembered between views. */

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly content: ComponentChildren;
}

let remembered = "";

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }): JSX.Element {
  const [shown, setShown] = useState(
    Math.max(
      0,
      tabs.findIndex(({ id }) => id === remembered),
    ),
  );
  const list = useRef<HTMLDivElement>(null);
  const show = (i: number): void => {
    remembered = tabs[i].id;
    setShown(i);
  };
  const onKey = (event: KeyboardEvent, i: number): void => {
    const count = tabs.length;
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: (i + 1) % count,
      ArrowLeft: (i + count - 1) % count,
      Home: 0,
      End: count - 1,
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    show(moves[event.key]);
    (list.current!.children[moves[event.key]] as HTMLElement).focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} ref={list}>
        {tabs.map(({ id, label: words }, i) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-controls={`panel-${id}`}
            aria-selected={i === shown}
            tabIndex={i === shown ? 0 : -1}
            onClick={() => show(i)}
            onKeyDown={(event) => onKey(event, i)}
          >
            {words}
          </button>
        ))}
      </div>
      {tabs.map(({ id, content }, i) => (
        <div key={id} id={`panel-${id}`} role="tabpanel" aria-labelledby={`tab-${id}`} hidden={i !== shown}>
          {content}
        </div>
      ))}
    </div>
  );
}
