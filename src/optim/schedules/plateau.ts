/**
 * Multiplies the learning rate by a factor when the validation loss has stopped falling, as PyTorch's ReduceLROnPlateau
 * does, and ends the run instead of a last decrease. The constants are those of DomainBed's loop for ERM++: 0.1 after two
 * evaluations without a lower loss, and the third decrease ends the run. A loss is lower if it is so by more than a factor
 * of 1e-4. PyTorch also ignores changes of the learning rate below 1e-8; this schedule does not.
 *
 * `drops` repeats the rates of another run without evaluations, for training again on all pictures.
 */

import { UsageError } from "../../errors.js";
import { number, option, text, whole } from "../../options.js";
import { defineSchedule, type ValidationLoss } from "../define-schedule.js";

/** What a loss must be multiplied by to count as lower: PyTorch's relative threshold. */
const LOWER = 1 - 1e-4;

export const plateau = defineSchedule({
  id: "plateau",
  title: "plateau",
  paper:
    "Teterwak, Saito, Tsiligkaridis, Saenko & Plummer, ERM++: An Improved Baseline for Domain Generalization, 2023, https://arxiv.org/abs/2304.01973",
  options: {
    decay: option(number({ above: 0, below: 1 }), "what the learning rate is multiplied by at each decrease", {
      default: 0.1,
    }),
    patience: option(whole(0), "the number of evaluations without a lower loss that are tolerated", { default: 1 }),
    most: option(whole(1), "the decrease that ends the run instead", { default: 3 }),
    from: option(whole(0), "evaluations before this step are ignored", { default: 0 }),
    drops: option(
      text,
      "the steps after which the learning rate decreases, with commas between them, or none: these are used instead of the validation loss",
      { default: "validation" },
    ),
  },
  factor: (at, _, options, losses) =>
    options.decay ** (stepsIn(options.drops) ?? dropsIn(losses, options)).filter((step) => step < at).length,
  follow(losses, options) {
    const drops = stepsIn(options.drops) ?? dropsIn(losses, options);
    const isOver = stepsIn(options.drops) === undefined && drops.length >= options.most;
    const before = losses.filter(({ step }) => step < drops[options.most - 1]).at(-1);
    const used = isOver ? drops.slice(0, options.most - 1) : drops;
    return {
      isOver,
      ...(isOver && before && { last: before.step }),
      repeated: { drops: used.length === 0 ? "none" : used.join(",") },
    };
  },
  check(_, { drops }) {
    stepsIn(drops);
  },
});

/** The given steps; undefined if the validation loss decides. */
function stepsIn(drops: string): number[] | undefined {
  if (drops === "validation") return undefined;
  if (drops === "none") return [];
  const steps = String(drops).split(",").map(Number);
  if (steps.every((step) => Number.isInteger(step) && step >= 0)) return steps;
  throw new UsageError(`plateau.drops ${drops}: expected steps with commas between them, "none" or "validation"`);
}

/** The steps of the evaluations at which the learning rate decreases. */
function dropsIn(
  losses: readonly ValidationLoss[],
  { from, patience, most }: { from: number; patience: number; most: number },
): number[] {
  const drops: number[] = [];
  let [best, without] = [Number.POSITIVE_INFINITY, 0];
  for (const { step, loss } of losses) {
    if (step < from || drops.length === most) continue;
    if (loss < best * LOWER) [best, without] = [loss, 0];
    else without++;
    if (without <= patience) continue;
    drops.push(step);
    without = 0;
  }
  return drops;
}
