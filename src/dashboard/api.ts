/**
 * The types of all responses of the dashboard's server. The server and the page both import them, so the compiler
 * checks that they agree. Only the page of the same version uses this API; its names can change without notice.
 */

import type { Expected } from "../analysis/expected.js";
import type { FixedSettings } from "../records/fixed-settings.js";
import type { TextTable } from "../report/text-table.js";
import type { RunState, StateCounts } from "../sweep/run-state.js";

/** The states of runs, in the order of the page. */
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
  /** The path of its folder relative to the watched folder, with `/`; "." is that folder itself. */
  readonly id: string;
  readonly state: RunState;
  /** The id of its sweep; null if it belongs to none. */
  readonly sweep: string | null;
  readonly dataset: string;
  /** Whether the dataset is a folder of the user's own pictures. */
  readonly own: boolean;
  readonly heldOut: readonly string[];
  /** The method as named in papers, and whether it is a probe: `ERM-NU`, `ERM, probe`. */
  readonly method: string;
  /** The explicit settings; empty if all are defaults of the protocol. */
  readonly fixed: FixedSettings;
  readonly trial: number;
  /** The index of the hyperparameter draw; 0 means the defaults. */
  readonly draw: number;
  /** The last step that was evaluated; null before the first evaluation. */
  readonly step: number | null;
  readonly steps: number | null;
  /** The progress that the process of the run reports; null if there is no process, or no report yet. */
  readonly reported: ReportedProgress | null;
  /**
   * The mean accuracy on the `out` splits of the training domains at that step, as a fraction; if `assessed`, that of
   * the final model.
   */
  readonly validation: number | null;
  /**
   * The mean accuracy on the `in` splits of the held-out domains at that step; if `assessed`, that of the final model
   * on all of their pictures.
   */
  readonly test: number | null;
  /**
   * The expected accuracy of a final model on a new domain, from runs that each held out one domain; null if there are
   * none.
   */
  readonly expected: Expected | null;
  /** Whether the accuracies are those of the finished run's report, on the user's own pictures. */
  readonly assessed: boolean;
  /** The average seconds per step, including evaluations; null until it is known. */
  readonly secondsPerStep: number | null;
  /** When its files last changed, in milliseconds since 1970; null if it has no files yet. */
  readonly at: number | null;
  /** What failed, as text. */
  readonly problem: string | null;
}

/** The progress that the process of a run reports every few seconds. */
export interface ReportedProgress {
  /** The number of finished steps. */
  readonly step: number;
  /** The remaining seconds. */
  readonly left: number;
  /** When the report was read, in milliseconds since 1970. */
  readonly at: number;
}

/** The number of runs in each state. */
export type { RunState, StateCounts };

/** A sweep in the list of sweeps. */
export interface SweepRow {
  /** The path of its folder relative to the watched folder. */
  readonly id: string;
  readonly name: string;
  readonly runs: number;
  readonly counts: StateCounts;
  /** The problem with its files, as text. */
  readonly problem: string | null;
}

/** Sent by `/api/events` (server-sent events) under the name of its kind. */
export interface Events {
  /** The first event: the watched folder. The page discards everything it received before. */
  readonly hello: { readonly folder: string /** The same, quoted for a shell command. */; readonly typed: string };
  /** New and changed rows. */
  readonly runs: readonly RunRow[];
  /** The ids of removed runs. */
  readonly gone: readonly string[];
  readonly sweeps: readonly SweepRow[];
  /** The number of runs found and read so far: the first scan of a large folder takes a while. */
  readonly progress: { readonly read: number; readonly found: number };
}

/** A curve of a run. */
export interface CurveData {
  readonly model: string;
  readonly domain: string | null;
  readonly split: string | null;
  readonly metric: string;
  readonly steps: readonly number[];
  /** Null for a value that is not finite. */
  readonly values: readonly (number | null)[];
}

/** `/api/curves?run=…` */
export interface RunCurves {
  readonly id: string;
  readonly curves: readonly CurveData[];
  readonly notes: readonly string[];
}

/** A picture that the model misclassified. */
export interface WrongPicture {
  /** For `/api/picture?run=…&n=…`. */
  readonly n: number;
  readonly name: string;
  readonly domain: string;
  readonly label: string;
  readonly predicted: string;
  /** The probabilities of the predicted class and of the true class. */
  readonly confidence: number;
  readonly truth: number;
  /**
   * Whether the picture can be shown: it is in the dataset's folder, and that is below a folder that the user chose.
   */
  readonly shown: boolean;
}

/** The evaluation of the trained model on pictures that were not used for training, as in its report. */
export interface Assessment {
  readonly classes: readonly string[];
  /** The confusion matrix of each domain. */
  readonly confusion: readonly { readonly domain: string; readonly counts: readonly (readonly number[])[] }[];
  /** Mistakes, starting with the lowest probability of the true class. */
  readonly mostWrong: readonly WrongPicture[];
  /** A description of these pictures. */
  readonly of: string;
}

/** `/api/run?run=…` */
export interface RunDetails {
  readonly id: string;
  /** The folder as a path relative to the current folder of the server. */
  readonly folder: string;
  /** The content of `settings.json` and `environment.json`; null if they cannot be read. */
  readonly settings: Readonly<Record<string, unknown>> | null;
  readonly environment: Readonly<Record<string, unknown>> | null;
  /** The end of `log.txt`. */
  readonly log: string;
  /** Whether the log is longer than this part. */
  readonly logCut: boolean;
  /** Whether it is in a pack, which has no log and cannot be resumed. */
  readonly packed: boolean;
  readonly assessment: Assessment | null;
}

/** One cell of a table, as text. */
export interface CellText {
  /** `85.5 ± 0.2`; empty if there is no value. */
  readonly text: string;
  readonly mark: "best" | "second" | null;
  /** `2/3` if it has fewer trials than the table. */
  readonly partial: string | null;
  /** The number of a note below the table. */
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

/** The effect of a penalty, pair by pair, in points of accuracy. */
export interface ComparisonData {
  readonly first: string;
  readonly second: string;
  /** What the intervals mean, and why some are missing. */
  readonly words: readonly string[];
  readonly rows: readonly {
    readonly title: string;
    readonly whole: boolean;
    readonly mean: number;
    readonly interval: readonly [low: number, high: number] | null;
    readonly trials: number;
    /** The difference, the interval, p, and p after Holm's correction, as reports print them. */
    readonly texts: readonly [difference: string, interval: string, p: string, holm: string];
  }[];
}

/** Accuracy and rank against the weight of the penalty. */
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
  /** The final models for each folder of own pictures. */
  readonly models: readonly Pick<TextTable, "title" | "words" | "head" | "rows">[];
  readonly comparisons: readonly ComparisonData[];
  readonly weights: readonly WeightData[];
  readonly notes: readonly string[];
}

/** `/api/sweep?sweep=…`: one row per method, one column per held-out domain, one mark per run. */
export interface SweepGrid {
  readonly id: string;
  readonly name: string;
  readonly protocol: readonly string[];
  readonly columns: readonly { readonly dataset: string; readonly heldOut: string }[];
  readonly rows: readonly {
    /** The method, or the methods that share these runs: `ERM-NU and SWAD-NU`. */
    readonly method: string;
    /** The explicit settings of these runs that not all runs have. */
    readonly fixed: FixedSettings;
    /** In the order of the columns; null if nothing was planned. */
    readonly cells: readonly (GridCell | null)[];
  }[];
}

export interface GridCell {
  readonly counts: StateCounts;
  /** Runs by id and state, in the order of the plan; empty if there are too many to show. */
  readonly runs: readonly (readonly [id: string, state: RunState, title: string])[];
}

/** `/api/toy?…`: the settings of the toy task, with their limits. */
export const toyLimits = {
  samples: { least: 4, most: 1000, usual: 100 },
  /** The weight λ of the penalty; the loss is cross-entropy + λ‖F‖_*. */
  weight: { least: 0, most: 1, usual: 0.01 },
  steps: { least: 1, most: 5000, usual: 2000 },
  learningRate: { least: 0.001, most: 2, usual: 0.1 },
  seed: { least: 0, most: 9999, usual: 0 },
} as const;

/** The initial weights of the toy model. */
export const toyStarts = ["uniform", "identity", "small", "normal"] as const;

export interface ToySettings {
  readonly samples: number;
  readonly weight: number;
  readonly steps: number;
  readonly learningRate: number;
  readonly seed: number;
  readonly init: (typeof toyStarts)[number];
}

/** A linear classifier in the plane (class 1 where a·x + b·y + c > 0) and its measures. */
export interface ToyClassifier {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly loss: number;
  readonly train: number;
  readonly in: number;
  readonly out: number;
  /** ‖F‖_* / ‖F‖_F: 1 for features on a line, √2 for two directions of equal strength. */
  readonly ratio: number;
}

/** Sent by `/api/toy` under the name of its kind. */
export interface ToyEvents {
  /** The training points (coordinates, and a label of −1 or 1), and the number of frames. */
  readonly start: {
    readonly points: readonly (readonly [x: number, y: number, label: number])[];
    readonly frames: number;
  };
  /** Both models after this number of steps. */
  readonly frame: { readonly step: number; readonly erm: ToyClassifier; readonly nu: ToyClassifier };
  readonly end: { readonly steps: number };
}
