/** The page: its frame, and the view of the current address. */

import { type ComponentType, type JSX, render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CompareView } from "./compare-view.js";
import { compared } from "./compared.js";
import { useChanges } from "./hooks.js";
import { RunView } from "./run-view.js";
import { RunsView } from "./runs-view.js";
import { store } from "./store.js";
import { SweepsView } from "./sweeps-view.js";
import { TablesView } from "./tables-view.js";
import { ThemeSwitch } from "./theme.js";
import { ToyView } from "./toy-view.js";

/** The views by the first part of the address, `#/compare`. The rest belongs to the view. */
const views: Readonly<Record<string, { title: string; View: ComponentType<{ rest: string | undefined }> }>> = {
  "": { title: "Runs", View: RunsView },
  compare: { title: "Compare", View: CompareView },
  tables: { title: "Tables", View: TablesView },
  sweeps: { title: "Sweeps", View: SweepsView },
  toy: { title: "Toy task", View: ToyView },
  run: { title: "Run", View: RunView },
};

const connections = {
  connecting: "connecting …",
  live: "live",
  lost: "connection lost: is nudge dashboard still running?",
};

function Frame({ word }: { word: string }): JSX.Element {
  useChanges(store, compared);
  const { folder, connection } = store;
  const chosen = compared.list().length;
  const isCurrent = (place: string): boolean => place === word || (place === "" && word === "run");
  return (
    <header class="frame">
      <a class="brand" href="#/">
        NUDGE
      </a>
      <nav aria-label="Views">
        {Object.entries(views)
          .filter(([place]) => place !== "run")
          .map(([place, { title }]) => (
            <a key={place} href={`#/${place}`} aria-current={isCurrent(place) ? "page" : undefined}>
              {place === "compare" && chosen > 0 ? `Compare (${chosen})` : title}
            </a>
          ))}
      </nav>
      <span class="push" />
      <span class="folder" title={folder}>
        {folder.split("/").slice(-2).join("/")}
      </span>
      <span class={`connection ${connection}`} role="status">
        {connections[connection]}
      </span>
      <ThemeSwitch />
    </header>
  );
}

function Page(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const [address, setAddress] = useState(location.hash);
  const [, asked = "", rest] = /^#?\/?([^/]*)(?:\/(.*))?$/.exec(address) ?? [];
  const word = Object.hasOwn(views, asked) ? asked : "";
  const { title, View } = views[word];
  useLayoutEffect(() => window.addEventListener("hashchange", () => setAddress(location.hash)), []);
  useLayoutEffect(() => {
    document.title = `${title} · NUDGE`;
    window.scrollTo(0, 0);
  }, [address]);
  const skip = (event: Event): void => {
    event.preventDefault(); // the address determines the view
    main.current!.focus();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Frame word={word} />
      <main id="main" tabIndex={-1} ref={main}>
        <View key={address} rest={rest === undefined ? undefined : decodeSafely(rest)} />
      </main>
    </>
  );
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

document.body.replaceChildren();
render(<Page />, document.body);
store.connect();
