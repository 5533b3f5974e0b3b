/** What a sweep can make of the runs of a trial. */

/** `soup` takes runs in greedily by validation, `uniform-soup` takes all, `ensemble` has the mean of their logits. */
export const combinationKinds = ["soup", "uniform-soup", "ensemble"] as const;
export type CombinationKind = (typeof combinationKinds)[number];
