/** What a person who started a sweep sees of it: a line when a run ends, with how many are done and how long the rest takes. */

import { duration } from "../training/reporter.js";
import type { ListedRun } from "./run-list.js";
import { sharedSettings, shortLine, shortTitle } from "./short-titles.js";
import type { WorkEvent } from "./work.js";
import type { Slot } from "./worker-process.js";

/** Runs that tell the pace. The first of a sweep may take long, as when they compute the features that all probes share. */
const PACE = 16;

export class Follow {
  private readonly titles: ReadonlyMap<string, string>;
  /** When we began, then when runs ended while we looked on: the last of them, as many as tell the pace. */
  private readonly ends = [performance.now()];

  /** `done` is how many are; null where nobody has counted, as in one of many tasks. */
  constructor(
    runs: readonly ListedRun[],
    private done: number | null,
    private readonly say: (line: string) => void,
  ) {
    const shared = sharedSettings(runs.map(({ title }) => title));
    this.titles = new Map(runs.map(({ id, title }) => [id, shortTitle(title, shared)]));
  }

  /** Tells what is worth a line; that a run begins is not. */
  tell(event: WorkEvent, { label }: Slot): void {
    switch (event.event) {
      case "begun":
        if (event.resumed) this.say(`goes on: ${this.nameOf(event.id)} (${label})`);
        return;
      case "done":
        if (this.done !== null) this.done++;
        this.end();
        this.say(`${this.count()} ${this.nameOf(event.id)} in ${duration(event.seconds)}${this.left()}`);
        return;
      case "stopped":
        // One that was decoding pictures or computing their features has made none.
        this.say(
          `stopped ${event.step > 0 ? `after step ${event.step - 1}` : "before a step"}: ${this.nameOf(event.id)}`,
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
        this.say(`FAILED: ${event.kind} ${event.id.slice(0, 8)}: ${shortLine(event.error)}`);
        return;
      case "failed":
        if (!event.again) this.end();
        this.say(
          `${event.again ? "failed, tried again" : "FAILED"}: ${this.nameOf(event.id)}: ${shortLine(event.error)}`,
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

  /** By the pace of those that ended here last; others may be at it too. */
  private left(): string {
    if (this.done === null || this.done === this.titles.size) return "";
    const rest = this.titles.size - this.done;
    const each = (this.ends.at(-1)! - this.ends[0]) / 1000 / (this.ends.length - 1);
    return `, about ${duration(each * rest)} left`;
  }
}
