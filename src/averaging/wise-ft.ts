/**
 * WiSE-FT interpolates between the initial parameters and the mean of all updates from a given step on (Wortsman et
 * al., Robust fine-tuning of zero-shot models, CVPR 2022, https://arxiv.org/abs/2109.01903; the paper uses the last
 * update instead of a mean, which corresponds to a `start` at the last step). Coefficient 0 gives the initial model and
 * 1 the fine-tuned model. It is most useful if the initial model already classifies well: with `headFirst=true`, its
 * classifier is the exact linear probe.
 *
 * With `coefficient=auto`, five coefficients are compared on the validation pictures of the training domains when
 * training ends. The best one is chosen, or the one closest to the initial model if several are equal.
 */

import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { type Kind, number, option, whole } from "../options.js";
import {
  type AverageSummary,
  defineFollower,
  type Follower,
  type FollowerState,
  type NamedTensors,
} from "./follower.js";
import { RunningMean } from "./running-mean.js";

/** The candidates of `auto`. */
const COEFFICIENTS: readonly number[] = [0, 0.25, 0.5, 0.75, 1];

const share = number({ least: 0, most: 1 });
const coefficient: Kind<number | "auto"> = {
  accepts: `auto, or ${share.accepts}`,
  read: (name, value) => (value === "auto" ? value : share.read(name, value)),
};

export const wiseFt = defineFollower(
  {
    id: "wise-ft",
    title: "WiSE-FT",
    paper: "Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022, https://arxiv.org/abs/2109.01903",
    settings: {
      coefficient: option(
        coefficient,
        "how far to go from the starting weights, at 0, to the fine-tuned ones, at 1; auto chooses by the validation pictures of the training domains when training ends",
        { default: 0.5 },
      ),
      start: option(whole(0), "the step from which updates are averaged", { default: 100 }),
    },
    evaluated: "at the end",
  },
  (settings) => new WiseFt(settings),
);

interface WiseFtSettings {
  readonly coefficient: number | "auto";
  readonly start: number;
}

export class WiseFt implements Follower {
  readonly id = "wise-ft";
  private readonly tuned = new RunningMean();
  private readonly initial = new RunningMean();
  private lastStep = -1;
  /** The coefficient that `auto` chose, once it is known. */
  private chosen: number | undefined;

  constructor(readonly settings: WiseFtSettings & Readonly<Record<string, number | string>>) {}

  get candidates(): readonly number[] {
    return this.settings.coefficient === "auto" ? COEFFICIENTS : [];
  }

  choose(candidate: number): void {
    this.chosen = candidate;
  }

  begin(parameters: NamedTensors): void {
    this.initial.seed(parameters);
  }

  afterUpdate(step: number, parameters: NamedTensors): void {
    if (this.initial.mean.size === 0)
      throw new UsageError("wise-ft: it has not seen the starting weights; call begin() before the first update");
    if (step < this.settings.start) this.tuned.seed(parameters);
    else this.tuned.add(parameters);
    this.lastStep = step;
  }

  atEvaluation(): "continue" {
    return "continue";
  }

  weights(): Map<string, Tensor> {
    const { coefficient: asked } = this.settings;
    return this.weightsAt(this.chosen ?? (asked === "auto" ? 1 : asked));
  }

  /** Returns the weights for any coefficient, so that several can be compared after one training run. */
  weightsAt(coefficient: number): Map<string, Tensor> {
    if (this.lastStep < 0) throw new UsageError("wise-ft: there is nothing to interpolate before the first update");
    const { mean } = this.tuned;
    return noGrad(
      () => new Map([...this.initial.mean].map(([name, from]) => [name, from.lerp(mean.get(name)!, coefficient)])),
    );
  }

  summary(): AverageSummary {
    const to = Math.max(0, this.lastStep);
    return { count: this.tuned.count, from: Math.min(this.settings.start, to), to };
  }

  state(): FollowerState {
    const tensors = new Map<string, Tensor>();
    for (const [name, tensor] of this.initial.mean) tensors.set(`initial/${name}`, tensor);
    for (const [name, tensor] of this.tuned.mean) tensors.set(`tuned/${name}`, tensor);
    const { chosen } = this;
    return {
      tensors,
      numbers: { count: this.tuned.count, lastStep: this.lastStep, ...(chosen !== undefined && { chosen }) },
    };
  }

  loadState({ tensors, numbers }: Readonly<FollowerState>): void {
    const { count, lastStep } = numbers;
    const [initial, tuned] = ["initial/", "tuned/"].map((prefix) => {
      const own = [...tensors].filter(([name]) => name.startsWith(prefix));
      return new Map(own.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
    });
    if (!Number.isSafeInteger(count) || !Number.isSafeInteger(lastStep) || initial.size === 0)
      throw new UsageError("loading the state of wise-ft: it is not whole. Is it the state of this run?");
    this.dispose();
    this.initial.restore(initial, 0);
    if (tuned.size > 0) this.tuned.restore(tuned, count);
    this.lastStep = lastStep;
    this.chosen = numbers.chosen;
  }

  dispose(): void {
    this.initial.dispose();
    this.tuned.dispose();
    this.lastStep = -1;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
