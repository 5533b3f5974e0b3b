/**
 * Random draws of a step that is captured as a CUDA graph. A graph replays the same kernels with the same arguments, so
 * a seed inside it would always give the same numbers. Instead, each draw has its own buffer, which is allocated in a
 * normal step before the capture. The graph copies from that buffer, and before each replay all buffers are filled
 * again with the keys of that step. A replayed step therefore draws exactly the same numbers as a normal step.
 *
 * The buffers cannot be allocated during the capture. Memory that is allocated then belongs to the graph, and an
 * earlier operator may use the same block and overwrite the numbers that were drawn before the replay.
 *
 * Numbers on the host cannot be replayed: a step that asks for them is not captured (`NotCapturable`).
 */

import type { Philox } from "./philox.js";
import { type Draw, type Purpose, Random } from "./random.js";
import { keep } from "./scope.js";
import type { Tensor } from "./tensor.js";

/** Thrown if a graph cannot replay the step. The step then has to run normally. */
export class NotCapturable extends Error {
  override name = "NotCapturable";
}

interface Recorded {
  /**
   * A buffer outside the graph's memory with the layout of the target, because the layout determines the order of
   * numbers.
   */
  readonly place: Tensor;
  readonly purpose: readonly Purpose[];
  readonly draw: Draw;
}

/** The draws of a step to capture, in order. They are recorded in a normal step and read in the captured step. */
export class DrawRecord implements Disposable {
  private readonly draws: Recorded[] = [];

  /**
   * Returns the source of draws for the normal step before the capture. It draws as `random` does and allocates
   * buffers.
   */
  planning(random: Random): Random {
    this[Symbol.dispose](); // frees an earlier plan
    const onDraw: OnDraw = (target, purpose, draw) => {
      draw(new Random(random.seed, purpose), target);
      this.draws.push({ place: keep(target.emptyLike()), purpose: purpose.slice(random.purpose.length), draw });
    };
    return new RecordingRandom(random.seed, random.purpose, onDraw, true);
  }

  /** Returns the source of draws for the step during the capture. `random` is what a normal step would use. */
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

  /** Whether the step draws nothing. */
  get isEmpty(): boolean {
    return this.draws.length === 0;
  }

  /** Fills all buffers again, for the step whose draws come from `random`. */
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
