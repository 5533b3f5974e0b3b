/**
 * Batches with a fixed number of rows. cuDNN plans every convolution again for every new number of rows, which takes seconds
 * for a whole network: longer than the rows that are added.
 */

import { cat, zeros } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";

/** The batch, padded with rows of zeros up to the first of these sizes that holds it; as it is if none does. */
export function paddedRows(x: Tensor, sizes: readonly number[]): Tensor {
  const rows = sizes.find((size) => size >= x.rows) ?? x.rows;
  if (rows === x.rows) return x;
  const more = zeros([rows - x.rows, ...x.shape.slice(1)], { dtype: x.dtype, device: x.device });
  return cat([x, x.isChannelsLast ? more.to({ memoryFormat: "channels_last" }) : more]);
}
