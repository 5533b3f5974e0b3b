/**
 * NUDGE as a library: training and evaluation in one call each, then the parts they are made of, in the order the data flows.
 * Records, selection, settings, training's own pieces and reports are in subpaths: `nudge-dg/records`, `nudge-dg/report`, …
 */

export { DataError, EngineError, StoppedError, UsageError } from "./errors.js";
export * from "./library/index.js";

// Engine and layers

export * from "./engine/index.js";
export * from "./nn/index.js";

// Data

export * from "./data/index.js";
export { type GetEmojiOptions, type GotEmoji, getEmoji } from "./get-data/get-emoji.js";

// Backbones, algorithms, regularizers, averages, optimizers, and how their options are declared

export * from "./algorithms/index.js";
export * from "./averaging/index.js";
export { getWeights } from "./backbones/get-weights.js";
export * from "./backbones/index.js";
export { type PublishedWeights, publishedWeights } from "./backbones/published-weights.js";
export {
  choice,
  type Hparam,
  type HparamValue,
  hparam,
  powerOfTen,
  powerOfTenInteger,
  powerOfTwoInteger,
  uniform,
  uniformInteger,
  variant,
} from "./hparams.js";
export * from "./optim/index.js";
export {
  count,
  type Kind,
  kinds,
  type Option,
  type Options,
  type OptionWithDefault,
  oneOf,
  option,
  type ValuesOf,
} from "./options.js";
export * from "./regularizers/index.js";

// Training step by step, sweeps

export type { RunRecord } from "./records/record.js";
export * from "./sweep/launchers/index.js";
export { Learner, type LearnerOptions } from "./training/learner.js";
export type { Status } from "./training/reporter.js";

// Models in use, and how good they are

export * from "./analysis/index.js";
export * from "./export/index.js";
export * from "./model/index.js";

// The paper's toy task and theory, and drawing

export { lineChart, panels, scatterChart } from "./drawing/plot.js";
export { writeFigure } from "./drawing/write-figure.js";
export * as synthetic from "./paper/synthetic/index.js";
export * as theory from "./paper/theory/index.js";
