/**
 * Settings that the program fits to a folder of pictures and a machine where nobody says otherwise. They tell no method from
 * another, so names of rows have them only where nothing else does.
 */

/** The most telling first; `warmup` is a penalty's, and is given with its name. */
export const FITTED: readonly string[] = [
  "steps",
  "batchSize",
  "precision",
  "warmup",
  "evaluateEvery",
  "evaluateFirst",
  "evaluateTraining",
  "augmentValidation",
];

/** The setting that a name means here: `nuclear-norm.warmup` is any penalty's `warmup`. */
export const fittedName = (name: string): string => name.replace(/^.*\.(?=warmup$)/, "");
