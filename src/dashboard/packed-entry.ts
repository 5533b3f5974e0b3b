/** A run of the index that is in a pack: read once, since nothing in a pack changes. */

import { DONE_FILE, RECORDS_FILE } from "../records/run.js";
import { type Change, IndexedRun, type Verdict } from "./indexed-run.js";

export class PackedEntry extends IndexedRun {
  refresh(verdict?: Verdict): Change {
    if (this.json !== "") return "none";
    this.readSettings();
    const failure = this.failure();
    if (!this.settings) this.state = "failed";
    else if (this.files.has(DONE_FILE)) this.state = "done";
    else {
      this.state = failure !== null ? "failed" : (verdict?.state ?? "stopped");
      this.problem = failure ?? verdict?.why ?? null;
    }
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
