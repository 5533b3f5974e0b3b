/**
 * Random draws of a step that is captured as a CUDA graph. A graph replays the same kernels with the same arguments, so a
 * seed inside it would give the same numbers for ever. Here a draw leaves its tensor as it is while the step is captured and
 * is written down; before each replay all of them are drawn into their tensors, with the keys of that step. So a replayed
 * step draws exactly what the plain one would.
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
  readonly target: Tensor;
  readonly purpose: readonly Purpose[];
  readonly draw: Draw;
}

/** The draws of a captured step, in order. */
export class DrawRecord implements Disposable {
  private readonly draws: Recorded[] = [];

  /** Where the step draws from while it is captured; `random` is what it would draw from now. */
  recording(random: Random): Random {
    return new RecordingRandom(random.seed, random.purpose, (target, purpose, draw) => {
      this.draws.push({ target: keep(target), purpose: purpose.slice(random.purpose.length), draw });
    });
  }

  /** Draws everything anew, for the step whose draws come from `random`. */
  refill(random: Random): void {
    for (const { target, purpose, draw } of this.draws) draw(random.for(...purpose), target);
  }

  [Symbol.dispose](): void {
    for (const { target } of this.draws) target.dispose();
    this.draws.length = 0;
  }
}

type OnDraw = (target: Tensor, purpose: readonly Purpose[], draw: Draw) => void;

class RecordingRandom extends Random {
  constructor(
    seed: number,
    purpose: readonly Purpose[],
    private readonly onDraw: OnDraw,
  ) {
    super(seed, purpose);
  }

  override for(...purpose: Purpose[]): Random {
    return new RecordingRandom(this.seed, [...this.purpose, ...purpose], this.onDraw);
  }

  override host(): Philox {
    throw new NotCapturable(`it draws numbers on the host (${this.purpose.at(-2)})`);
  }

  override fill(target: Tensor, draw: Draw): Tensor {
    this.onDraw(target, this.purpose, draw);
    return target;
  }
}
