/**
 * Directions of the 2-D task that are known in closed form, and what they score: the yardstick for what training finds.
 *
 * A boundary through the origin is t, the weight of x₂ over that of x₁. With agreement p, E[y·x] = ½·(1, 2p − 1) and
 * E[x·xᵀ] = ⅓·I off whose diagonal stands ¼(2p − 1).
 */

import { paperTask, type Task } from "../../data/toy-task.js";
import { exactAccuracy } from "./accuracy.js";
import { paperAccuracy } from "./experiment.js";

export interface Landmark {
  name: string;
  /** x₂'s weight over x₁'s. */
  tilt: number;
  in: number;
  out: number;
}

/** The closed-form directions for a 2-D task. */
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

/** The smallest tilt of 0 or more whose boundary through the origin has this out-of-domain accuracy; undefined if none has. */
export function tiltForOut(accuracy: number, task: Task = paperTask): number | undefined {
  // Of the points whose x₂ disagrees with the label, a share of t/2 is wrong up to t = 1, and 1 − 1/(2t) above.
  const share = (1 - accuracy) / (1 - task.agreement.out);
  if (!(share >= 0 && share < 1)) return undefined;
  return share <= 0.5 ? 2 * share : 1 / (2 - 2 * share);
}

/** What the paper's two accuracies imply: a boundary's tilt, and with it the accuracy in domain. */
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
