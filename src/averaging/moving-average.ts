/**
 * A moving average of the parameters. It is either the uniform mean of all updates from a given step on (Arpit et al.,
 * Ensemble of Averages, NeurIPS 2022, https://arxiv.org/abs/2110.10832), or an exponential moving average with factor
 * `decay`. Before that step, the average equals the trained model.
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { number, option, whole, word } from "../options.js";
import {
  type AverageSummary,
  defineFollower,
  type Follower,
  type FollowerState,
  type NamedTensors,
} from "./follower.js";
import { RunningMean } from "./running-mean.js";

export const movingAverage = defineFollower(
  {
    id: "moving-average",
    title: "MA",
    paper:
      "Arpit et al., Ensemble of Averages: Improving Model Selection and Boosting Performance in Domain Generalization, NeurIPS 2022, https://arxiv.org/abs/2110.10832",
    settings: {
      kind: option(word("uniform", "exponential"), "whether all updates weigh the same, or older ones less", {
        default: "uniform",
      }),
      decay: option(number({ least: 0, below: 1 }), "how much of the past an update keeps; exponential only", {
        default: 0.999,
      }),
      start: option(whole(0), "the step from which updates are averaged", { default: 100 }),
    },
    evaluated: "always",
  },
  (settings) => new MovingAverage(settings),
);

interface MovingAverageSettings {
  readonly kind: "uniform" | "exponential";
  readonly decay: number;
  readonly start: number;
}

class MovingAverage implements Follower {
  readonly id = "moving-average";
  private readonly average = new RunningMean();
  private lastStep = -1;

  constructor(readonly settings: MovingAverageSettings & Readonly<Record<string, number | string>>) {}

  afterUpdate(step: number, parameters: NamedTensors): void {
    const { kind, decay, start } = this.settings;
    if (step < start) this.average.seed(parameters);
    else if (kind === "uniform") this.average.add(parameters);
    else this.average.blend(parameters, 1 - decay);
    this.lastStep = step;
  }

  atEvaluation(): "continue" {
    return "continue";
  }

  weights(): Map<string, Tensor> {
    if (this.lastStep < 0) throw new UsageError("moving-average: there is no average before the first update");
    return this.average.copy();
  }

  summary(): AverageSummary {
    const to = Math.max(0, this.lastStep);
    return { count: this.average.count, from: Math.min(this.settings.start, to), to };
  }

  state(): FollowerState {
    return { tensors: new Map(this.average.mean), numbers: { count: this.average.count, lastStep: this.lastStep } };
  }

  loadState({ tensors, numbers }: Readonly<FollowerState>): void {
    const { count, lastStep } = numbers;
    if (!Number.isSafeInteger(count) || !Number.isSafeInteger(lastStep) || (lastStep >= 0 && tensors.size === 0)) {
      throw new UsageError("loading the state of moving-average: it is not whole. Is it the state of this run?");
    }
    this.dispose();
    this.average.restore(tensors, count);
    this.lastStep = lastStep;
  }

  dispose(): void {
    this.average.dispose();
    this.lastStep = -1;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
