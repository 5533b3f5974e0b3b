/** Copies numbers from the host to a device. */
import type { Nested, TypedArray } from "../engine/arrays.js";
import type { DType } from "../engine/dtype.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";

/**
 * A tensor of these numbers on a device. A plain copy to a GPU first waits until the GPU has finished its queued work,
 * possibly a whole training step. This copy does not wait: the driver copies the numbers to a buffer before it returns.
 */
export function upload(
  data: Nested | TypedArray,
  { device, ...options }: { device: string; dtype?: DType; shape?: readonly number[] },
): Tensor {
  if (device === "cpu") return tensor(data, options);
  return scope(() => {
    const host = tensor(data, options);
    return host.toDevice(device, host.dtype, true);
  });
}
