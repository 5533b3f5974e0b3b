/** Section 4 of the paper and its appendix as code, with checks. */

export { type L2Solution, solveL2 } from "./erm-l2.js";
export { type RankSolution, solveRank } from "./erm-rank.js";
export { drawFigure, type FigurePoint, type FigurePoints, figurePoints, writeTheoryFigure } from "./figure.js";
export { type NuclearSolution, nuclearPenalty, penaltyForm, solveNuclear } from "./nuclear.js";
export { type PromiseLimits, promiseLimits } from "./nuclear-limits.js";
export { resolveSetting, type Setting, type TheoryOptions } from "./setting.js";
export type { Check, Condition, Verdict } from "./statements/check.js";
export { theoryText } from "./text.js";
export { runTheory, type TheoryResult } from "./theory.js";
