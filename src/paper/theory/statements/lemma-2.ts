/** Lemma 2: the support of the ERM-rank optimum, and whether such an optimum exists. */

import { INVARIANT } from "../distributions.js";
import { solveL2 } from "../erm-l2.js";
import { lossAlongRay, type RankSolution } from "../erm-rank.js";
import { expectation } from "../expectation.js";
import type { Setting } from "../setting.js";
import { type Check, type CheckInput, checksOf } from "./check.js";
import type { Conditions } from "./conditions.js";

/** Returns all lines of Lemma 2. */
export function checkLemma2(setting: Setting, { rankSmall, gammaSmall }: Conditions, rank: RankSolution): Check[] {
  const { bRank } = setting;
  const [near, far] = lossAlongRay(bRank, [1, 1000]);
  const rises = rank.candidates.slice(1).map(({ value }, i) => value - rank.candidates[i].value);
  const lines: CheckInput[] = [
    {
      id: "rank-has-minimiser",
      statement: "the problem as stated has a minimiser: E ℓ at 1000·w_R stays above E ℓ at w_R = 1",
      left: far.loss,
      relation: "≥",
      right: near.loss,
      note: "invariant margins are positive, so E ℓ falls to 0 along the ray and never reaches it: “any optimal w*” is empty. With λ/2‖w‖² added there is one, and the next lines are about it",
    },
    {
      id: "rank-size",
      statement: "(1) |R_rank| = B_rank",
      left: rank.invariant + rank.spurious,
      relation: "=",
      right: bRank,
      needs: [rankSmall],
    },
    {
      id: "rank-support",
      statement: "(2) R_rank ⊆ R: spurious features in the best support",
      left: rank.spurious,
      relation: "=",
      right: 0,
      needs: [rankSmall, gammaSmall],
      note: `${rank.exhaustive ? "all" : "a choice of"} ${rank.candidates.length} splits of B_rank compared`,
    },
  ];
  if (rises.length > 0) {
    lines.push({
      id: "rank-each-worse",
      statement: "each further spurious feature in the support raises the objective: smallest rise",
      left: Math.min(...rises),
      relation: ">",
      right: 0,
      needs: [rankSmall, gammaSmall],
    });
  }
  return [...checksOf("Lemma 2", lines), ...checksOf("Lemma 2, proof", exchange(setting, { rankSmall, gammaSmall }))];
}

/** The step of the proof: moving a spurious weight θ to an unused invariant feature decreases the loss. */
function exchange(
  { bRank, r, gamma, lambda }: Setting,
  { rankSmall, gammaSmall }: Pick<Conditions, "rankSmall" | "gammaSmall">,
): CheckInput[] {
  const kept = Math.min(bRank, r) - 1;
  const { alpha, beta } = solveL2({ invariant: kept, spurious: 1, gamma, lambda });
  const rest = { gamma: INVARIANT, weight: alpha, count: kept };
  return [
    {
      id: "rank-exchange",
      statement: "moving one spurious weight θ to an unused invariant feature lowers E ℓ",
      left: expectation("loss", [rest, { gamma: INVARIANT, weight: beta, count: 1 }]),
      relation: "<",
      right: expectation("loss", [rest, { gamma, weight: beta, count: 1 }]),
      needs: [rankSmall, gammaSmall],
    },
  ];
}
