/**
 * The progress of a sweep for the user: one line per finished run, with the number of finished runs and the remaining
 * time.
 */

import { duration } from "../training/reporter.js";
import type { ListedRun } from "./run-list.js";
import { sharedSettings, shortLine, shortTitle } from "./short-titles.js";
import type { WorkEvent } from "./work.js";
import type { Slot } from "./worker-process.js";

/**
 * The number of runs for estimating the pace. The first run of a sweep can take long, for example while it computes the
 * features that all probes share.
 */
const PACE = 16;

export class Follow {
  private readonly titles: ReadonlyMap<string, string>;
  /** The combinations whose failure has been printed. */
  private readonly uncombined = new Set<string>();
  /** The start time, then the end times of the last runs. */
  private readonly ends = [performance.now()];

  /** `done` is the number of finished runs; null if it is unknown, as in one of many tasks. */
  constructor(
    runs: readonly ListedRun[],
    private done: number | null,
    private readonly say: (line: string) => void,
  ) {
    const shared = sharedSettings(runs.map(({ title }) => title));
    this.titles = new Map(runs.map(({ id, title }) => [id, shortTitle(title, shared)]));
  }

  /** Prints events that are worth a line; the start of a run is not. */
  report(event: WorkEvent, { label }: Slot): void {
    switch (event.event) {
      case "begun":
        if (event.resumed) this.say(`resumed: ${this.nameOf(event.id)} (${label})`);
        return;
      case "done":
        if (this.done !== null) this.done++;
        this.end();
        this.say(`${this.count()} ${this.nameOf(event.id)} in ${duration(event.seconds)}${this.left()}`);
        return;
      case "stopped":
        // A run that was still decoding pictures or computing features has made no step.
        this.say(
          `stopped ${event.step > 0 ? `after step ${event.step - 1}` : "before the first step"}: ${this.nameOf(event.id)}`,
        );
        return;
      case "hopeless":
        this.end();
        this.say(`${event.id.slice(0, 8)} ${event.why}`);
        return;
      case "combined":
        this.say(`${event.kind} of ${event.members.length} runs: ${this.ofMembers(event.members)}`);
        return;
      case "not combined":
        if (this.uncombined.has(event.id)) return; // it is tried again at the end
        this.uncombined.add(event.id);
        this.say(`FAILED: ${event.kind} ${event.id.slice(0, 8)}: ${shortLine(event.error)}`);
        return;
      case "failed":
        if (!event.again) this.end();
        this.say(
          `${event.again ? "failed, will be retried" : "FAILED"}: ${this.nameOf(event.id)}: ${shortLine(event.error)}`,
        );
        return;
    }
  }

  private nameOf(id: string): string {
    return `${id.slice(0, 8)} ${this.titles.get(id) ?? ""}`.trim();
  }

  /** The title of the first of some runs, without its seed and draw. */
  private ofMembers([first]: readonly string[]): string {
    return (this.titles.get(first) ?? "").replace(/ · (seed|draw) \d+/g, "");
  }

  private count(): string {
    if (this.done === null) return "done:";
    const all = String(this.titles.size);
    return `[${String(this.done).padStart(all.length)}/${all}]`;
  }

  private end(): void {
    this.ends.push(performance.now());
    if (this.ends.length > PACE + 1) this.ends.shift();
  }

  /** Based on the pace of the last runs that ended here; other machines may work on it too. */
  private left(): string {
    if (this.done === null || this.done === this.titles.size) return "";
    const rest = this.titles.size - this.done;
    const each = (this.ends.at(-1)! - this.ends[0]) / 1000 / (this.ends.length - 1);
    return `, about ${duration(each * rest)} left`;
  }
}
