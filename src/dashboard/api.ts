/**
 * What the dashboard's server says and its page reads: the shapes of every answer. Both sides import these types, so a field
 * that one forgets the other does not compile without.
 */

import type { Expected } from "../analysis/expected.js";
import type { FixedSettings } from "../records/fixed-settings.js";
import type { TextTable } from "../report/text-table.js";
import type { RunState, StateCounts } from "../sweep/run-state.js";

/** The states of runs, in the order the page lists them. */
export const runStates: readonly RunState[] = [
  "running",
  "waiting",
  "failed",
  "stopped",
  "hopeless",
  "cancelled",
  "done",
];

/** A run in the list. */
export interface RunRow {
  /** The path of its folder below the folder that is watched, with `/`; "." is that folder itself. */
  readonly id: string;
  readonly state: RunState;
  /** The sweep it belongs to, by its id; null outside of sweeps. */
  readonly sweep: string | null;
  readonly dataset: string;
  /** Whether that is a folder of somebody's own pictures. */
  readonly own: boolean;
  readonly heldOut: readonly string[];
  /** As the papers name it, and whether it is a probe: `ERM-NU`, `ERM, probe`. */
  readonly method: string;
  /** What was set by hand; empty where all is as the protocol has it. */
  readonly fixed: FixedSettings;
  readonly trial: number;
  /** Which draw of hyperparameters; 0 is the defaults. */
  readonly draw: number;
  /** The last step that was evaluated; null before the first. */
  readonly step: number | null;
  readonly steps: number | null;
  /** The progress that the process of the run reports; null if there is no process, or no report yet. */
  readonly reported: ReportedProgress | null;
  /** The mean accuracy on the `out` parts of the training domains at that step, a fraction; where `assessed`, of the run's model. */
  readonly validation: number | null;
  /** The mean accuracy on the `in` parts of the held-out domains at that step; where `assessed`, of the run's model on all of them. */
  readonly test: number | null;
  /** What to expect of a model for use on a new domain, as runs that each held one domain out found; null where none did. */
  readonly expected: Expected | null;
  /** Whether the accuracies are what the finished run's own report has, on own pictures. */
  readonly assessed: boolean;
  /** Seconds a step has taken on average, evaluations included; null before it is known. */
  readonly secondsPerStep: number | null;
  /** When its files last changed, in milliseconds since 1970; null for a run that has none yet. */
  readonly at: number | null;
  /** What failed, in words. */
  readonly problem: string | null;
}

/** What a process at work on a run says of it, every few seconds. */
export interface ReportedProgress {
  /** Steps made. */
  readonly step: number;
  /** Seconds to go. */
  readonly left: number;
  /** When it was read, in milliseconds since 1970. */
  readonly at: number;
}

/** How many runs are in which state. */
export type { RunState, StateCounts };

/** A sweep in the list of sweeps. */
export interface SweepRow {
  /** The path of its folder below the folder that is watched. */
  readonly id: string;
  readonly name: string;
  readonly runs: number;
  readonly counts: StateCounts;
  /** What is wrong with its files, in words. */
  readonly problem: string | null;
}

/** Sent by `/api/events` (server-sent events) under the name of its kind. */
export interface Events {
  /** The first: what is watched. What the page knew before is to be forgotten. */
  readonly hello: { readonly folder: string /** The same as a word of a shell command. */; readonly typed: string };
  /** Rows that are new or changed. */
  readonly runs: readonly RunRow[];
  /** Ids of runs that are gone. */
  readonly gone: readonly string[];
  readonly sweeps: readonly SweepRow[];
  /** How many of the runs found have been read: the first reading of a large folder takes a while. */
  readonly progress: { readonly read: number; readonly found: number };
}

/** A curve of a run. */
export interface CurveData {
  readonly model: string;
  readonly domain: string | null;
  readonly split: string | null;
  readonly metric: string;
  readonly steps: readonly number[];
  /** A value that is not finite is null. */
  readonly values: readonly (number | null)[];
}

/** `/api/curves?run=…` */
export interface RunCurves {
  readonly id: string;
  readonly curves: readonly CurveData[];
  readonly notes: readonly string[];
}

/** A picture a model was wrong about. */
export interface WrongPicture {
  /** For `/api/picture?run=…&n=…`. */
  readonly n: number;
  readonly name: string;
  readonly domain: string;
  readonly label: string;
  readonly predicted: string;
  /** The probability of the class it says, and of the class it is of. */
  readonly confidence: number;
  readonly truth: number;
  /** Whether the picture can be shown: it is a file of the dataset's folder, below a folder that the user chose. */
  readonly shown: boolean;
}

/** What is known of the trained model on pictures it was not trained on: as its report has it. */
export interface Assessment {
  readonly classes: readonly string[];
  /** Counts by true and predicted class, for each domain. */
  readonly confusion: readonly { readonly domain: string; readonly counts: readonly (readonly number[])[] }[];
  /** Those first whose true class it gave the lowest probability. */
  readonly mostWrong: readonly WrongPicture[];
  /** What these pictures are of, in words. */
  readonly of: string;
}

/** `/api/run?run=…` */
export interface RunDetails {
  readonly id: string;
  /** The folder as a path that a shell in the same place understands. */
  readonly folder: string;
  /** `settings.json` and `environment.json` as they are; null where they cannot be read. */
  readonly settings: Readonly<Record<string, unknown>> | null;
  readonly environment: Readonly<Record<string, unknown>> | null;
  /** The end of `log.txt`. */
  readonly log: string;
  /** Whether the log has more above. */
  readonly logCut: boolean;
  /** Whether it is in a pack, which has no log and cannot go on. */
  readonly packed: boolean;
  readonly assessment: Assessment | null;
}

/** One cell of a table, as it is printed. */
export interface CellText {
  /** `85.5 ± 0.2`; empty where there is nothing. */
  readonly text: string;
  readonly mark: "best" | "second" | null;
  /** `2/3` where it stands on fewer trials than the table has. */
  readonly partial: string | null;
  /** The number of a note under the table. */
  readonly note: number | null;
}

export interface TableData {
  readonly id: string;
  readonly title: string;
  readonly words: readonly string[];
  readonly columns: readonly string[];
  readonly rows: readonly {
    readonly title: string;
    readonly kind: "own" | "published" | "difference";
    readonly cells: readonly CellText[];
  }[];
  readonly notes: readonly string[];
}

/** What a penalty adds, pair by pair, in points of accuracy. */
export interface ComparisonData {
  readonly first: string;
  readonly second: string;
  /** Of single trials on own pictures there are no intervals; the words say what to do. */
  readonly words: readonly string[];
  readonly rows: readonly {
    readonly title: string;
    readonly whole: boolean;
    readonly mean: number;
    readonly interval: readonly [low: number, high: number] | null;
    readonly trials: number;
  }[];
}

/** Accuracy and rank against the penalty's weight. */
export interface WeightData {
  readonly title: string;
  readonly points: readonly WeightPoint[];
  /** The same method without the penalty. */
  readonly baseline: WeightPoint | null;
}

export interface WeightPoint {
  readonly weight: number;
  /** Percent. */
  readonly accuracy: number;
  readonly stableRank: number | null;
  readonly centredStableRank: number | null;
}

/** `/api/report?selection=…&published=1&sweep=…` */
export interface ReportData {
  readonly selection: string;
  readonly selections: readonly { readonly id: string; readonly title: string; readonly about: string }[];
  readonly runs: number;
  readonly tables: readonly TableData[];
  /** The models to use of each folder of own pictures. */
  readonly models: readonly Pick<TextTable, "title" | "words" | "head" | "rows">[];
  readonly comparisons: readonly ComparisonData[];
  readonly weights: readonly WeightData[];
  readonly notes: readonly string[];
}

/** `/api/sweep?sweep=…`: a row a method, a column a held-out domain, a mark a run. */
export interface SweepGrid {
  readonly id: string;
  readonly name: string;
  readonly protocol: readonly string[];
  readonly columns: readonly { readonly dataset: string; readonly heldOut: string }[];
  readonly rows: readonly {
    readonly method: string;
    /** What was set by hand in these runs and not in all. */
    readonly fixed: FixedSettings;
    /** In the order of the columns; null where nothing was planned. */
    readonly cells: readonly (GridCell | null)[];
  }[];
}

export interface GridCell {
  readonly counts: StateCounts;
  /** Runs by id and state, in the order of the plan; empty where there are too many to show. */
  readonly runs: readonly (readonly [id: string, state: RunState, title: string])[];
}

/** `/api/toy?…`: the settings of the toy task, with what the server allows of each. */
export const toyLimits = {
  samples: { least: 4, most: 1000, usual: 100 },
  /** The penalty's weight λ; the loss is cross-entropy + λ‖F‖_*. */
  weight: { least: 0, most: 1, usual: 0.01 },
  steps: { least: 1, most: 5000, usual: 2000 },
  learningRate: { least: 0.001, most: 2, usual: 0.1 },
  seed: { least: 0, most: 9999, usual: 0 },
} as const;

/** Where the toy model may start. */
export const toyStarts = ["uniform", "identity", "small", "normal"] as const;

export interface ToySettings {
  readonly samples: number;
  readonly weight: number;
  readonly steps: number;
  readonly learningRate: number;
  readonly seed: number;
  readonly init: (typeof toyStarts)[number];
}

/** A linear classifier in the plane: class 1 where a·x + b·y + c > 0, and how it does. */
export interface ToyClassifier {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly loss: number;
  readonly train: number;
  readonly in: number;
  readonly out: number;
  /** ‖F‖_* / ‖F‖_F: 1 for features on a line, √2 for two directions of the same strength. */
  readonly ratio: number;
}

/** Sent by `/api/toy` under the name of its kind. */
export interface ToyEvents {
  /** The training points, coordinates and label of −1 or 1, and how many frames will come. */
  readonly start: {
    readonly points: readonly (readonly [x: number, y: number, label: number])[];
    readonly frames: number;
  };
  /** Both models after so many steps. */
  readonly frame: { readonly step: number; readonly erm: ToyClassifier; readonly nu: ToyClassifier };
  readonly end: { readonly steps: number };
}
