/** Explains the numbers of `nudge theory` in a few generated sentences. */

import { accuracyText, fromLog10, short } from "./format-number.js";
import type { TheoryResult } from "./theory.js";

/** Returns the closing paragraphs. */
export function readings(result: TheoryResult): string[] {
  return [aboutL2(result), aboutRank(result), aboutNuclear(result), aboutProofs(result), ABOUT_TRAINING];
}

const ABOUT_TRAINING =
  "None of this is a statement about training with the penalty: here the features are given and independent, the map is diagonal, the head is fixed at ones and the risk is the population's. With a trainable head the penalty can be lowered by scale alone, and with a full map the spurious directions need not be coordinates.";

function aboutL2({ outcomes: { l2 }, lambdaPath, setting: { r }, conditions }: TheoryResult): string {
  const unmet = conditions.filter(({ met }) => !met);
  const logs = lambdaPath.map((point) => point.l2.outOfDomain.log10Accuracy ?? 0);
  const ratios = lambdaPath.map((point) => point.l2.ratio);
  const bound = -r / 10 / Math.LN10;
  const scope =
    unmet.length === 0
      ? `All conditions of the Proposition are met; its bound is exp(−r/10) = ${fromLog10(bound)}.`
      : `Not all conditions of the Proposition are met (${unmet.map(({ id }) => id).join(", ")}), so it says nothing about this setting.`;
  return (
    `ERM-ℓ2 gives each spurious feature ${percent(l2.beta / l2.alpha)} of an invariant feature's weight and is right out of domain with probability ${accuracyText(l2.outOfDomain)}. ${scope} ` +
    `Over λ from ${short(lambdaPath[0].lambda)} to ${short(lambdaPath[lambdaPath.length - 1].lambda)}, α/β goes from ${short(Math.min(...ratios))} to ${short(Math.max(...ratios))} and that probability from ${fromLog10(Math.min(...logs))} to ${fromLog10(Math.max(...logs))}.`
  );
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function aboutRank({ outcomes: { rank }, setting: { bRank, r } }: TheoryResult): string {
  const { invariant, spurious } = rank.support;
  const kept =
    spurious === 0
      ? `uses ${invariant} invariant features and no spurious one, so it is right with probability ${accuracyText(rank.outOfDomain)}`
      : `uses ${invariant} invariant and ${spurious} spurious features (B_rank = ${bRank} is more than r = ${r}) and is right with probability ${accuracyText(rank.outOfDomain)}`;
  return `ERM-rank as the paper states it has no minimiser (the loss falls to zero along every invariant direction); with λ/2‖w‖² added it has one, which ${kept}.`;
}

function aboutNuclear({ nuclear, outcomes, lambdaPath, setting: { lambda, gamma } }: TheoryResult): string {
  const { support, limits, alpha, beta, pull } = nuclear;
  const uses = {
    none: "nothing",
    invariant: "invariant features alone",
    spurious: "spurious features alone",
    both: "both kinds",
  };
  const weaker = lambdaPath.findLast((point) => point.lambda < lambda && point.nuclear.support !== "none");
  const instead = weaker
    ? ` (λ is the ℓ2 problem's and its units are other ones; at ${short(weaker.lambda)} the nuclear norm uses ${uses[weaker.nuclear.support]} and is right out of domain with probability ${accuracyText(weaker.nuclear.outOfDomain)})`
    : "";
  const range =
    limits.smallestLambda === null
      ? "There is no λ at which it uses the invariant features alone."
      : `It uses the invariant features alone for λ from ${limits.smallestLambda === 0 ? "(almost) 0" : short(limits.smallestLambda)} up to ${short(limits.lambdaMax)}, where all weights become zero.`;
  const edge =
    limits.largestGamma === null
      ? ""
      : ` At this λ the promise ends at γ = ${short(limits.largestGamma)}: above it the spurious features come in.`;
  const said = {
    none: `At λ = ${short(lambda)} the nuclear norm leaves nothing: w = 0, because λ is at least ${short(limits.lambdaMax)}${instead}.`,
    invariant: `The nuclear norm keeps the rank solution's promise here: its minimiser has weight ${short(alpha)} on every invariant feature and exactly 0 on every spurious one (the loss pulls at them with ${percent(pull)} of what the penalty resists), so it is right with probability ${accuracyText(outcomes.nuclear.outOfDomain)}.`,
    spurious: `The nuclear norm breaks the rank solution's promise here: it uses the spurious features alone.`,
    both: `The nuclear norm breaks the rank solution's promise here (γ = ${gamma}): it gives each spurious feature ${percent(beta / alpha)} of an invariant feature's weight and is right out of domain with probability ${accuracyText(outcomes.nuclear.outOfDomain)}.`,
  }[support];
  return `${said} ${range}${edge} With a diagonal map the penalty is close to an ℓ1 norm weighted by each feature's standard deviation, and the invariant features have more signal per standard deviation; that, not rank as such, is what decides.`;
}

function aboutProofs({ checks }: TheoryResult): string {
  const failed = checks.filter(({ verdict }) => verdict === "fails");
  if (failed.length === 0) return "Every line that could be checked within its conditions holds.";
  const reasons: Record<string, string> = {
    "room-for-gamma": "the text's “C < 20” leaves no admissible γ for r up to 36",
    "ratio-negative-part":
      "one step in the proof of α/β < 3/(4γ) is false as an inequality of its own (the next step's slack makes up for it)",
    "rank-has-minimiser": "ERM-rank without a norm term has no minimiser",
    "chain-ranges":
      "Hoeffding's step with 4d needs γ ≥ 3/8, which is not assumed (with the true ranges the chain ends at exp(−0.171 r), so the conclusion stands)",
  };
  const said = failed.map(({ id, statement }) => reasons[id] ?? `the line “${statement}” is false here`);
  return `Of the paper's text, ${said.length === 1 ? "one thing does" : `${said.length} things do`} not hold as written: ${said.join("; ")}.`;
}
