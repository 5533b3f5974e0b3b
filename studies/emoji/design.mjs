/** The design of the study on emoji (docs/study-emoji.md) as data. */

/** The styles that are held out. Other styles of their authors are not trained on: the dataset excludes them. */
export const HELD_OUT = ["openmoji", "emojione-monotone", "fluent-emoji-high-contrast", "twemoji"];

/** The settings of all runs. Two fifths of the emoji are new. */
export const OPTIONS = [
  ...["--data", "emoji", "--precision", "bf16", "--steps", "1501", "--eval-every", "100"],
  ...["data.newEmoji=0.4", "evaluateTraining=false"],
];

/** The methods of a trial, by the trajectory that has them. @type {Record<string, string[]>} */
export const TRAJECTORIES = { ERM: ["ERM", "SWAD"], "ERM-NU": ["ERM-NU", "SWAD-NU"], "ERM-FRO": ["ERM-FRO"] };

/** The weights of FRO that the calibration runs in trial 0. */
export const FRO_WEIGHTS = [0.015, 0.05, 0.15];

/** The trials that are analysed. */
export const TRIALS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** The smallest effect of interest, as a fraction. */
export const SMALLEST_EFFECT = 0.01;

/** First minus second. The first comparison is the primary one; Holm's correction is over the others. */
export const COMPARISONS = [
  { first: "ERM-NU", second: "ERM" },
  { first: "ERM-FRO", second: "ERM" },
  { first: "ERM-NU", second: "ERM-FRO" },
  { first: "SWAD-NU", second: "SWAD" },
];

/** Whether the scale of FRO must be checked before a comparison counts. @param {{ first: string, second: string }} pair */
export const usesFro = ({ first, second }) => first === "ERM-FRO" || second === "ERM-FRO";
