/**
 * Directions of the 2-D task that are known in closed form, and their accuracies, for comparison with the results of
 * training.
 *
 * A boundary through the origin is described by t, the weight of x₂ over that of x₁. With agreement p, E[y·x] = ½·(1,
 * 2p − 1), and E[x·xᵀ] has ⅓ on its diagonal and ¼(2p − 1) off the diagonal.
 */

import { paperTask, type Task } from "../../data/toy-task.js";
import { exactAccuracy } from "./accuracy.js";
import { paperAccuracy } from "./experiment.js";

export interface Landmark {
  name: string;
  /** The weight of x₂ divided by that of x₁. */
  tilt: number;
  in: number;
  out: number;
}

/** Returns the closed-form directions of a 2-D task. */
export function landmarks(task: Task = paperTask): Landmark[] {
  const lean = 2 * task.agreement.in - 1;
  const [diagonal, cross] = [1 / 3, lean / 4];
  return [
    landmark(task, "the invariant feature alone", 0),
    // argmax over w of E[y w·x] / √(wᵀE[xxᵀ]w): E[xxᵀ]⁻¹E[y·x]
    landmark(
      task,
      "the largest mean margin for the norm of a rank-one F",
      (diagonal * lean - cross) / (diagonal - cross * lean),
    ),
    // argmax over w of E[y w·x] / ‖w‖: E[y·x]
    landmark(task, "the largest mean margin for the norm of the weights; ERM's first step from A = I", lean),
  ];
}

/**
 * Returns the smallest tilt of at least 0 whose boundary through the origin has this out-of-domain accuracy, or
 * undefined if there is none.
 */
export function tiltForOut(accuracy: number, task: Task = paperTask): number | undefined {
  // Among points whose x₂ disagrees with the label, a share of t/2 is misclassified for t ≤ 1, and 1 − 1/(2t) above.
  const share = (1 - accuracy) / (1 - task.agreement.out);
  if (!(share >= 0 && share < 1)) return undefined;
  return share <= 0.5 ? 2 * share : 1 / (2 - 2 * share);
}

/** Returns the tilts and in-domain accuracies that the paper's two accuracies imply. */
export function paperLandmarks(task: Task = paperTask): Landmark[] {
  const landmarkFor = (name: string, accuracy: number): Landmark[] => {
    const tilt = tiltForOut(accuracy, task);
    return tilt === undefined ? [] : [landmark(task, name, tilt)];
  };
  return [
    ...landmarkFor("the paper's ERM", paperAccuracy.none),
    ...landmarkFor("the paper's ERM-NU", paperAccuracy["nuclear-norm"]),
  ];
}

function landmark(task: Task, name: string, tilt: number): Landmark {
  const predictor = { weights: Float64Array.of(1, tilt), offset: 0 };
  return { name, tilt, in: exactAccuracy(task, predictor, "in"), out: exactAccuracy(task, predictor, "out") };
}
