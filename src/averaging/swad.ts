/**
 * SWAD: stochastic weight averaging, densely (Cha et al., NeurIPS 2021, https://arxiv.org/abs/2102.08604). A segment is
 * the running mean of the parameters after every update since the last evaluation. The rules in loss-valley.ts decide
 * which segments are averaged, with equal weights, and when to stop.
 *
 * Memory holds the current segment, the average, and the segments that the rules may still need, at most max(Ns, Ne).
 */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { number, option, whole, word } from "../options.js";
import {
  type AverageSummary,
  defineFollower,
  type Follower,
  type FollowerState,
  type NamedTensors,
} from "./follower.js";
import { LossValley, type Segment, type ValleySettings } from "./loss-valley.js";
import { RunningMean } from "./running-mean.js";

/** The published settings. VLCS has a different tolerance. */
export const swad = defineFollower(
  {
    id: "swad",
    title: "SWAD",
    paper:
      "Cha et al., SWAD: Domain Generalization by Seeking Flat Minima, NeurIPS 2021, https://arxiv.org/abs/2102.08604",
    settings: {
      converge: option(whole(1), "evaluations without a new minimum until the loss counts as converged (Ns)", {
        default: 3,
      }),
      patience: option(whole(1), "evaluations above the threshold until the valley counts as left (Ne)", {
        default: 6,
      }),
      tolerance: option(number({ least: 0 }), "how far above the loss at convergence the threshold lies (r)", {
        default: 0.3,
      }),
      afterValley: option(
        word("stop", "continue"),
        "whether the run stops at the end of the loss valley, as in SWAD's code, or continues for the rows of the trained model",
        {
          default: "stop",
          formerly: "whenLeft",
          pooled: "the average is the same; runs that it ended early give no row of the trained model",
        },
      ),
    },
    forDataset: { vlcs: { tolerance: 0.2 } },
    evaluated: "at the end",
  },
  (settings) => new Swad(settings),
);

/** A finished segment with the mean of its parameters. */
interface KeptSegment extends Segment {
  readonly average: RunningMean;
}

type SwadSettings = ValleySettings & { readonly afterValley: "stop" | "continue" } & Readonly<
    Record<string, number | string>
  >;

class Swad implements Follower {
  readonly id = "swad";
  private readonly valley: LossValley<KeptSegment>;
  private segment = new RunningMean();
  private startStep = 0;
  private average = new RunningMean();
  /** The first and the last step of the segments in the average. */
  private range: { from: number; to: number } | undefined;

  constructor(readonly settings: SwadSettings) {
    this.valley = new LossValley(settings);
  }

  afterUpdate(step: number, parameters: NamedTensors): void {
    if (this.valley.state.dead) return;
    if (this.segment.count === 0) this.startStep = step;
    this.segment.add(parameters);
  }

  atEvaluation(step: number, validationLoss: number): "continue" | "stop" {
    if (this.valley.state.dead) return this.settings.afterValley;
    if (this.segment.count === 0)
      throw new UsageError(`swad: there was no update since the evaluation before the one at step ${step}`);
    const before = this.valley.state.recent;
    const closed = { startStep: this.startStep, endStep: step, loss: validationLoss, average: this.segment };
    const { start, add } = this.valley.push(closed);
    this.segment = new RunningMean();
    if (start) this.average.seed(start.average.mean);
    for (const each of add) this.take(each);
    const { recent, dead } = this.valley.state;
    for (const each of [...before, closed]) if (!recent.includes(each)) each.average.dispose();
    return dead ? this.settings.afterValley : "continue";
  }

  private take(segment: KeptSegment): void {
    this.range = widened(this.range, segment);
    this.average.add(segment.average.mean);
  }

  weights(): Map<string, Tensor> {
    const { start, add } = this.valley.finish();
    if (this.valley.state.convergeStep === undefined) {
      if (!start) throw new UsageError("swad: there is no average before the first evaluation");
      return start.average.copy();
    }
    return noGrad(() =>
      scope(() => {
        const weights = this.average.copy();
        add.forEach(({ average }, i) => {
          const part = 1 / (this.average.count + i + 1);
          for (const [name, tensor] of average.mean) {
            if (part === 1) weights.get(name)!.copy_(tensor);
            else weights.get(name)!.lerp_(tensor, part);
          }
        });
        return weights;
      }),
    );
  }

  summary(): AverageSummary {
    const { start, add } = this.valley.finish();
    if (this.valley.state.convergeStep === undefined) {
      const range = start ? { count: 1, from: start.startStep, to: start.endStep } : { count: 0, from: 0, to: 0 };
      return { ...range, of: "segments" };
    }
    const range = add.reduce(widened, this.range) ?? { from: 0, to: 0 };
    return { count: this.average.count + add.length, ...range, of: "segments" };
  }

  state(): FollowerState {
    const tensors = new Map<string, Tensor>();
    const numbers: Record<string, number> = {};
    const save = (key: string, { mean, count }: RunningMean): void => {
      numbers[`${key}.count`] = count;
      for (const [name, tensor] of mean) tensors.set(`${key}.${name}`, tensor);
    };
    const { recent, convergeStep, threshold, dead } = this.valley.state;
    numbers.recent = recent.length;
    numbers.dead = Number(dead);
    if (convergeStep !== undefined) Object.assign(numbers, { convergeStep, threshold });
    if (this.range) Object.assign(numbers, this.range);
    numbers["segment.start"] = this.startStep;
    save("segment", this.segment);
    save("average", this.average);
    recent.forEach(({ startStep, endStep, loss, average }, i) => {
      const key = `recent-${i}`;
      Object.assign(numbers, { [`${key}.start`]: startStep, [`${key}.end`]: endStep, [`${key}.loss`]: loss });
      save(key, average);
    });
    return { tensors, numbers };
  }

  loadState({ tensors, numbers }: Readonly<FollowerState>): void {
    const made: RunningMean[] = [];
    let copied = 0;
    const number = (key: string): number => {
      if (!Number.isFinite(numbers[key])) throw misfit(`"${key}" is missing`);
      return numbers[key];
    };
    const mean = (key: string): RunningMean => {
      const own = [...tensors].filter(([name]) => name.startsWith(`${key}.`));
      const count = number(`${key}.count`);
      if (count > 0 && own.length === 0) throw misfit(`the tensors of "${key}" are missing`);
      copied += own.length;
      made.push(new RunningMean());
      made.at(-1)!.restore(new Map(own.map(([name, tensor]) => [name.slice(key.length + 1), tensor])), count);
      return made.at(-1)!;
    };
    try {
      const kept = number("recent");
      // Each segment has tensors of its own, so this is also a limit.
      if (!Number.isInteger(kept) || kept < 0 || kept > tensors.size) throw misfit(`"recent" is ${kept}`);
      const recent = Array.from({ length: kept }, (_, i): KeptSegment => {
        const key = `recent-${i}`;
        const [startStep, endStep, loss] = [number(`${key}.start`), number(`${key}.end`), number(`${key}.loss`)];
        return { startStep, endStep, loss, average: mean(key) };
      });
      const found =
        "convergeStep" in numbers ? { convergeStep: number("convergeStep"), threshold: number("threshold") } : {};
      const valley = { recent, ...found, dead: number("dead") === 1 };
      const range = "from" in numbers ? { from: number("from"), to: number("to") } : undefined;
      const startStep = number("segment.start");
      const [segment, average] = [mean("segment"), mean("average")];
      if (copied < tensors.size) throw misfit(`${tensors.size - copied} tensors are unexpected`);
      this.dispose();
      this.valley.state = valley;
      Object.assign(this, { range, startStep, segment, average });
    } catch (error) {
      for (const each of made) each.dispose();
      throw error;
    }
  }

  dispose(): void {
    this.segment.dispose();
    this.average.dispose();
    const { recent } = this.valley.state;
    for (const { average } of recent) average.dispose();
    this.valley.state = { recent: [], dead: false };
    this.range = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const misfit = (what: string): UsageError =>
  new UsageError(`loading the state of swad: ${what}. Is it the state of this run?`);

/** Extends the range. As in the official code, it starts at the first added segment and ends at the last one. */
function widened(
  range: { from: number; to: number } | undefined,
  { startStep, endStep }: Segment,
): { from: number; to: number } {
  return { from: range?.from ?? startStep, to: endStep };
}
