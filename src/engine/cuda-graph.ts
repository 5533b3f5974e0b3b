/**
 * A step that is captured once as a CUDA graph and then replayed, so that the CPU launches one graph instead of a
 * thousand kernels. The inputs of the step must keep their memory: write new inputs into the captured tensors
 * (`copy_`).
 */

import { loadNative, native } from "./load.js";
import { refuseAsync } from "./scope.js";

export class CudaGraph implements Disposable {
  private constructor(private id: number) {}

  /**
   * Records the kernels that `body` launches on the device, without running them. Run `body` a few times before to warm
   * up.
   */
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

  /** Runs the recorded kernels, several times if asked. */
  replay(times = 1): void {
    native.replay(this.id, times);
  }

  dispose(): void {
    if (this.id >= 0) native.freeGraph(this.id);
    this.id = -1;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
