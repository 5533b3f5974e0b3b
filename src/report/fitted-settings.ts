/**
 * Settings that the program chooses by default for a folder of pictures and a machine. They do not distinguish methods,
 * so names of rows include them only if nothing else distinguishes two rows. The page of the dashboard reads this list,
 * and a browser cannot load the declarations (`chosen`); a test compares them.
 */

/** The most informative first. `warmup` belongs to a penalty and is printed with its name. */
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

/** The setting that a name stands for here: `nuclear-norm.warmup` is the `warmup` of any penalty. */
export const fittedName = (name: string): string => name.replace(/^.*\.(?=warmup$)/, "");
