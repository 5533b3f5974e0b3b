/** Parts of a view of which one is shown: arrow keys go from tab to tab. Which one is remembered between views. */

import { h, setAttribute } from "./dom.js";

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly root: HTMLElement;
}

let remembered = "";

export class Tabs {
  readonly root: HTMLElement;
  private readonly buttons: HTMLButtonElement[];

  constructor(
    label: string,
    private readonly tabs: readonly Tab[],
  ) {
    this.buttons = tabs.map(({ id, label: words }, i) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${id}`,
          "aria-controls": `panel-${id}`,
          on: { click: () => this.show(i), keydown: (event) => this.onKey(event, i) },
        },
        words,
      ),
    );
    for (const { id, root } of tabs) {
      root.id = `panel-${id}`;
      root.setAttribute("role", "tabpanel");
      root.setAttribute("aria-labelledby", `tab-${id}`);
    }
    this.root = h(
      "div",
      { class: "tabs" },
      h("div", { role: "tablist", "aria-label": label }, ...this.buttons),
      ...tabs.map(({ root }) => root),
    );
    this.show(
      Math.max(
        0,
        tabs.findIndex(({ id }) => id === remembered),
      ),
    );
  }

  private show(shown: number): void {
    remembered = this.tabs[shown].id;
    this.tabs.forEach(({ root }, i) => {
      root.hidden = i !== shown;
      setAttribute(this.buttons[i], "aria-selected", String(i === shown));
      this.buttons[i].tabIndex = i === shown ? 0 : -1;
    });
  }

  private onKey(event: KeyboardEvent, i: number): void {
    const last = this.tabs.length - 1;
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: i === last ? 0 : i + 1,
      ArrowLeft: i === 0 ? last : i - 1,
      Home: 0,
      End: last,
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    this.show(moves[event.key]);
    this.buttons[moves[event.key]].focus();
  }
}
