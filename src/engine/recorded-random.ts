/**
 * Random draws of a step that is captured as a CUDA graph. A graph replays the same kernels with the same arguments, so a
 * seed inside it would give the same numbers for ever. Here each draw has a place of its own, made in a plain step before the
 * capture; in the graph it is copied from there, and before each replay all values are drawn again, with the keys of that
 * step. So a replayed step draws exactly what the plain one would.
 *
 * The places cannot be made during the capture: its memory is the graph's, where an operator before the draw may have had
 * the same block, and would write over what was drawn ahead of the replay.
 *
 * Numbers on the host cannot be replayed: a step that asks for them is not captured (`NotCapturable`).
 */

import type { Philox } from "./philox.js";
import { type Draw, type Purpose, Random } from "./random.js";
import { keep } from "./scope.js";
import type { Tensor } from "./tensor.js";

/** What a step does that no graph can replay; the step has to be run as it is. */
export class NotCapturable extends Error {
  override name = "NotCapturable";
}

interface Recorded {
  /** Outside the graph's memory, and laid out as what is drawn into: the layout decides which number goes where. */
  readonly place: Tensor;
  readonly purpose: readonly Purpose[];
  readonly draw: Draw;
}

/** The draws of a step that is to be captured, in order: made in a plain step, read in the captured one. */
export class DrawRecord implements Disposable {
  private readonly draws: Recorded[] = [];

  /** Where the plain step before the capture draws from: as from `random`, and each draw gets its place. */
  planning(random: Random): Random {
    this[Symbol.dispose](); // an earlier plan
    const onDraw: OnDraw = (target, purpose, draw) => {
      draw(new Random(random.seed, purpose), target);
      this.draws.push({ place: keep(target.emptyLike()), purpose: purpose.slice(random.purpose.length), draw });
    };
    return new RecordingRandom(random.seed, random.purpose, onDraw, true);
  }

  /** Where the step draws from while it is captured; `random` is what it would draw from now. */
  recording(random: Random): Random {
    let next = 0;
    const onDraw: OnDraw = (target, purpose) => {
      const planned = this.draws[next++];
      const same =
        planned &&
        String(planned.purpose) === String(purpose.slice(random.purpose.length)) &&
        String(planned.place.shape) === String(target.shape) &&
        planned.place.dtype === target.dtype;
      if (!same) throw new NotCapturable(`it draws otherwise than the update before (${purpose.at(-2)})`);
      target.copy_(planned.place);
    };
    return new RecordingRandom(random.seed, random.purpose, onDraw, false);
  }

  /** Draws everything again, for the step whose draws come from `random`. */
  refill(random: Random): void {
    for (const { place, purpose, draw } of this.draws) draw(random.for(...purpose), place);
  }

  [Symbol.dispose](): void {
    for (const { place } of this.draws) place.dispose();
    this.draws.length = 0;
  }
}

type OnDraw = (target: Tensor, purpose: readonly Purpose[], draw: Draw) => void;

class RecordingRandom extends Random {
  constructor(
    seed: number,
    purpose: readonly Purpose[],
    private readonly onDraw: OnDraw,
    private readonly mayUseHost: boolean,
  ) {
    super(seed, purpose);
  }

  override for(...purpose: Purpose[]): Random {
    return new RecordingRandom(this.seed, [...this.purpose, ...purpose], this.onDraw, this.mayUseHost);
  }

  override host(): Philox {
    if (this.mayUseHost) return super.host();
    throw new NotCapturable(`it draws numbers on the host (${this.purpose.at(-2)})`);
  }

  override fill(target: Tensor, draw: Draw): Tensor {
    this.onDraw(target, this.purpose, draw);
    return target;
  }
}
