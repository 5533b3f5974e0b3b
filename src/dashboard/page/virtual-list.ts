/**
 * A list of which only the rows in sight exist, so that ten thousand cost no more than thirty. Rows have one height; those that
 * stay in sight keep their elements, so that the focus and the mouse's hover are not lost when the list is told something new.
 */

import { h } from "./dom.js";

export interface ListRow<T> {
  readonly root: HTMLElement;
  update(item: T): void;
}

export interface ListOptions<T> {
  readonly label: string;
  key(item: T): string;
  make(item: T): ListRow<T>;
  /** Enter or a click on a row. */
  open(item: T): void;
  /** Space on a row. */
  toggle(item: T): void;
}

/** Rows made beyond both edges, so that quick scrolling shows no gaps. */
const BEYOND = 6;

export class VirtualList<T> {
  readonly root: HTMLElement;
  private readonly rows: HTMLElement;
  private readonly made = new Map<string, ListRow<T>>();
  private items: readonly T[] = [];
  private active = 0;
  private readonly observer = new ResizeObserver(() => this.draw());

  constructor(
    private readonly options: ListOptions<T>,
    head: HTMLElement,
  ) {
    this.rows = h("div", { class: "rows", role: "rowgroup" });
    this.root = h(
      "div",
      {
        class: "list",
        role: "grid",
        "aria-multiselectable": "true",
        "aria-label": options.label,
        on: { keydown: (event) => this.onKey(event), scroll: () => this.draw() },
      },
      head,
      this.rows,
    );
    this.observer.observe(this.root);
  }

  setItems(items: readonly T[]): void {
    const focused = this.items[this.active];
    this.items = items;
    const at =
      focused === undefined ? -1 : items.findIndex((item) => this.options.key(item) === this.options.key(focused));
    this.active = at >= 0 ? at : Math.min(this.active, Math.max(0, items.length - 1));
    this.root.setAttribute("aria-rowcount", String(items.length + 1));
    this.draw();
  }

  /** Brings the rows in sight up to date. */
  draw(): void {
    const height = this.rowHeight();
    this.rows.style.height = `${this.items.length * height}px`;
    const top = this.root.scrollTop;
    const first = Math.max(0, Math.floor(top / height) - BEYOND);
    const last = Math.min(this.items.length, Math.ceil((top + this.root.clientHeight) / height) + BEYOND);
    const wanted = new Set<string>();
    for (let i = first; i < last; i++) this.place(i, height, wanted);
    for (const [key, row] of this.made)
      if (!wanted.has(key)) {
        row.root.remove();
        this.made.delete(key);
      }
  }

  close(): void {
    this.observer.disconnect();
  }

  private place(i: number, height: number, wanted: Set<string>): void {
    const item = this.items[i];
    const key = this.options.key(item);
    wanted.add(key);
    let row = this.made.get(key);
    if (!row) {
      row = this.options.make(item);
      row.root.setAttribute("role", "row");
      row.root.addEventListener("click", (event) => {
        // Links and boxes in a row do what they do; the row itself opens.
        if (!(event.target as Element).closest("a, button, input, label"))
          this.options.open(this.items[this.indexOf(key)]);
      });
      this.made.set(key, row);
      this.rows.append(row.root);
    }
    row.update(item);
    row.root.style.transform = `translateY(${i * height}px)`;
    row.root.setAttribute("aria-rowindex", String(i + 2));
    row.root.tabIndex = i === this.active ? 0 : -1;
  }

  private indexOf(key: string): number {
    return this.items.findIndex((item) => this.options.key(item) === key);
  }

  /** One row's height as the style has it, in pixels: it grows with the reader's font. */
  private rowHeight(): number {
    return Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--row")) * remInPixels();
  }

  private onKey(event: KeyboardEvent): void {
    if (!(event.target instanceof HTMLElement) || event.target.getAttribute("role") !== "row") return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight()) - 2);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (Object.hasOwn(moves, event.key)) this.focusOn(moves[event.key]);
    else if (event.key === "Enter") this.options.open(this.items[this.active]);
    else if (event.key === " ") this.options.toggle(this.items[this.active]);
    else return;
    event.preventDefault();
  }

  private focusOn(i: number): void {
    if (this.items.length === 0) return;
    this.active = Math.min(this.items.length - 1, Math.max(0, i));
    const height = this.rowHeight();
    const [top, bottom] = [this.active * height, (this.active + 1) * height];
    const room = this.root.clientHeight - height; // the head stays on top
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (bottom > this.root.scrollTop + room) this.root.scrollTop = bottom - room;
    this.draw();
    this.made.get(this.options.key(this.items[this.active]))?.root.focus({ preventScroll: true });
  }
}

const remInPixels = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
