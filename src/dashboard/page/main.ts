/** The page: its frame, and the view that the address asks for. */

import { compareView } from "./compare-view.js";
import { compared } from "./compared.js";
import { h, setAttribute, setText } from "./dom.js";
import { runView } from "./run-view.js";
import { runsView } from "./runs-view.js";
import { store } from "./store.js";
import { sweepsView } from "./sweeps-view.js";
import { tablesView } from "./tables-view.js";
import { themeSwitch } from "./theme.js";
import { toyView } from "./toy-view.js";
import type { View } from "./view.js";

/** The views by the first word of the address, `#/compare`; what follows is the view's own. */
const views: Readonly<Record<string, (rest: string | undefined) => View>> = {
  "": runsView,
  run: (id) => runView(id ?? ""),
  compare: compareView,
  tables: tablesView,
  sweeps: sweepsView,
  toy: toyView,
};

const places = [
  { word: "", label: "Runs" },
  { word: "compare", label: "Compare" },
  { word: "tables", label: "Tables" },
  { word: "sweeps", label: "Sweeps" },
  { word: "toy", label: "Toy task" },
] as const;

const main = h("main", { id: "main", tabindex: -1 });
const links = places.map(({ word, label }) => h("a", { href: `#/${word}` }, label));
const folder = h("span", { class: "folder" });
const connection = h("span", { class: "connection", role: "status" });
let open: View | undefined;

function show(): void {
  const [, word = "", rest] = /^#?\/?([^/]*)(?:\/(.*))?$/.exec(location.hash) ?? [];
  open?.close();
  const make = Object.hasOwn(views, word) ? views[word] : runsView;
  open = make(rest === undefined ? undefined : decodeSafely(rest));
  document.title = `${open.title} · NUDGE`;
  main.replaceChildren(open.root);
  window.scrollTo(0, 0);
  places.forEach((place, i) => {
    const current = place.word === word || (place.word === "" && word === "run");
    setAttribute(links[i], "aria-current", current ? "page" : null);
  });
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showFrame(): void {
  setText(folder, store.folder.split("/").slice(-2).join("/"));
  folder.title = store.folder;
  connection.className = `connection ${store.connection}`;
  const words = { connecting: "connecting …", live: "live", lost: "no connection: is nudge dashboard still running?" };
  setText(connection, words[store.connection]);
  const chosen = compared.list().length;
  setText(links[1], chosen > 0 ? `Compare (${chosen})` : "Compare");
}

document.body.replaceChildren(
  h(
    "a",
    {
      class: "skip",
      href: "#main",
      on: {
        click: (event) => {
          event.preventDefault(); // the address says which view is open
          main.focus();
        },
      },
    },
    "Skip to the content",
  ),
  h(
    "header",
    { class: "frame" },
    h("a", { class: "brand", href: "#/" }, "NUDGE"),
    h("nav", { "aria-label": "Views" }, ...links),
    h("span", { class: "push" }),
    folder,
    connection,
    themeSwitch(),
  ),
  main,
);
window.addEventListener("hashchange", show);
store.subscribe(showFrame);
compared.subscribe(showFrame);
showFrame();
show();
store.connect();
