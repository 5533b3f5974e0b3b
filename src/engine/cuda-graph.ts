/**
 * A step captured once as a CUDA graph and replayed: the CPU then launches one graph instead of a thousand kernels.
 * What the step reads must stay at the same place: write new inputs into the tensors it was captured with (`copy_`).
 */

import { loadNative, native } from "./load.js";
import { refuseAsync } from "./scope.js";

export class CudaGraph implements Disposable {
  private constructor(private id: number) {}

  /** Records what `body` launches on the device, without running it. Run the body a few times before, to warm up. */
  static capture(device: string, body: () => void): CudaGraph {
    const id = loadNative().captureBegin(device);
    let done = false;
    try {
      refuseAsync("capture", body());
      done = true;
    } finally {
      native.captureEnd(done);
    }
    return new CudaGraph(id);
  }

  /** Runs what was recorded. */
  replay(): void {
    native.replay(this.id);
  }

  dispose(): void {
    if (this.id >= 0) native.freeGraph(this.id);
    this.id = -1;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
