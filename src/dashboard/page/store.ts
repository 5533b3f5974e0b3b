/** The state of the page, kept up to date by the events of the server. Views subscribe to changes. */

import type { Events, RunRow, SweepRow } from "../api.js";

/** The delay in milliseconds before views are updated, because changes come in groups. */
const TELL_MS = 60;

class Store {
  readonly runs = new Map<string, RunRow>();
  readonly sweeps = new Map<string, SweepRow>();
  folder = "";
  /** The folder, quoted for a shell command. */
  typed = "";
  progress = { read: 0, found: 0 };
  connection: "connecting" | "live" | "lost" = "connecting";
  private readonly listeners = new Set<() => void>();
  private timer: number | undefined;
  private source: EventSource | undefined;
  /** The runs received since the last hello, until all have arrived. */
  private known: Set<string> | undefined;

  /**
   * Listens to the server while the page is visible: a browser has six connections per server for all tabs, and tabs in
   * the background would use them up.
   */
  connect(): void {
    document.addEventListener("visibilitychange", () => this.listen());
    this.listen();
  }

  private listen(): void {
    this.source?.close();
    this.source = undefined;
    if (document.hidden) return;
    const source = new EventSource("/api/events");
    this.source = source;
    const on = <K extends keyof Events>(kind: K, take: (data: Events[K]) => void): void =>
      source.addEventListener(kind, (event) => {
        take(JSON.parse((event as MessageEvent<string>).data) as Events[K]);
        this.changed();
      });
    on("hello", ({ folder, typed }) => {
      if (folder !== this.folder) this.runs.clear();
      this.sweeps.clear();
      this.known = new Set();
      Object.assign(this, { folder, typed, connection: "live" });
    });
    on("runs", (rows) => {
      for (const row of rows) {
        this.runs.set(row.id, row);
        this.known?.add(row.id);
      }
    });
    on("gone", (ids) => {
      for (const id of ids) this.runs.delete(id);
    });
    on("sweeps", (rows) => {
      for (const row of rows) this.sweeps.set(row.id, row);
    });
    on("progress", (progress) => {
      this.progress = progress;
      this.forgetOthers();
    });
    source.onerror = () => {
      this.connection = "lost";
      this.changed();
      if (source.readyState === EventSource.CLOSED)
        window.setTimeout(() => this.source === source && this.listen(), 2_000);
    };
  }

  /** After a complete update, runs that were not in it are removed; until then they stay, so that nothing flickers. */
  private forgetOthers(): void {
    const { known } = this;
    if (!known) return;
    for (const id of this.runs.keys()) if (!known.has(id)) this.runs.delete(id);
    this.known = undefined;
  }

  /** Whether the folder has been read completely once. */
  get isRead(): boolean {
    return this.connection !== "connecting" && this.progress.read >= this.progress.found;
  }

  /** Registers a callback for changes. The returned function removes it. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private changed(): void {
    this.timer ??= window.setTimeout(() => {
      this.timer = undefined;
      for (const listener of this.listeners) listener();
    }, TELL_MS);
  }
}

export const store = new Store();
