/** The kinds of combinations that a sweep can create from the runs of a trial. */

/** `soup` adds runs greedily by validation accuracy, `uniform-soup` averages all runs, `ensemble` averages their logits. */
export const combinationKinds = ["soup", "uniform-soup", "ensemble"] as const;
export type CombinationKind = (typeof combinationKinds)[number];
