/** Algorithms that alternate between kinds of updates, such as DANN: some of the discriminator, then one of the rest. */

import type { AlgorithmDefinition } from "./algorithm.js";

/** Returns the number of updates after which the kinds of updates repeat, with the default hyperparameters. */
export const turnsOf = ({ hparams }: AlgorithmDefinition): number => 1 + Number(hparams.dStepsPerGStep?.default ?? 0);
