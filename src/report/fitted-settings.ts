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

/** The setting in a word such as `steps=20` or `nuclear-norm.warmup=0`. */
export const settingIn = (word: string): string =>
  word.slice(0, Math.max(0, word.indexOf("="))).replace(/^.*\.(?=warmup$)/, "");
