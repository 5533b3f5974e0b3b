/**
 * Batches with a fixed number of rows. cuDNN plans every convolution again for every new number of rows, which takes seconds
 * for a whole network: longer than the rows that are added.
 */

import { cat, zeros } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";

/** The batch, padded with rows of zeros up to this number; as it is if it has as many or more. */
export function paddedRows(x: Tensor, rows: number): Tensor {
  if (rows <= x.rows) return x;
  const more = zeros([rows - x.rows, ...x.shape.slice(1)], { dtype: x.dtype, device: x.device });
  return cat([x, x.isChannelsLast ? more.to({ memoryFormat: "channels_last" }) : more]);
}
