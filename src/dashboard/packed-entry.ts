/** A run of the index that is in a pack: read once, since nothing in a pack changes. */

import { DONE_FILE, RECORDS_FILE } from "../records/run.js";
import type { FixedByHand } from "../sweep/fixed-by-hand.js";
import type { Verdict } from "../sweep/run-state.js";
import { type Change, IndexedRun } from "./indexed-run.js";

export class PackedEntry extends IndexedRun {
  readonly isPacked = true;

  refresh(verdict?: Verdict, byHand?: FixedByHand): Change {
    if (this.json !== "") return "none";
    this.readSettings(byHand);
    this.state = this.stateBy(verdict, { isDone: this.files.has(DONE_FILE), isRunning: false });
    this.measured.add((this.files.text(RECORDS_FILE) ?? "").split("\n"));
    this.readPace(this.files.text("timing.jsonl")?.trimEnd().split("\n").at(-1));
    this.json = JSON.stringify(this.row());
    return "numbers";
  }

  checkDone(): void {}

  logEnd(): undefined {}

  protected changedAt(): number | null {
    return this.files.time(DONE_FILE) || null;
  }
}
