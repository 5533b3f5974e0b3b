/** Copies numbers from the host to a device. */
import type { Nested, TypedArray } from "../engine/arrays.js";
import { synchronize } from "../engine/device.js";
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

/** The most bytes of pictures that wait in pinned memory for a slow device. */
const MOST_AHEAD = 2 ** 30;
const ahead = new Map<string, number>();

/**
 * A copy of pixels, uint8, on a device. A copy from pinned memory does not wait for the device, and the memory is needed until it is made.
 * So that a host that prepares pictures faster than the network uses them does not fill its memory, it waits after each gigabyte.
 */
export function copyAhead(pixels: Tensor, device: string, wait: (device: string) => void = synchronize): Tensor {
  const bytes = (ahead.get(device) ?? 0) + pixels.numel;
  if (bytes > MOST_AHEAD) wait(device);
  ahead.set(device, bytes > MOST_AHEAD ? pixels.numel : bytes);
  return pixels.toDevice(device, "uint8", true);
}
