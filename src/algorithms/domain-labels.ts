/** Which domain each sample of a batch came from. */

import { cat, full } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import type { Batch } from "./algorithm.js";

/** The position of its domain for every row of `batch.x`: int64 [n]. */
export function domainLabels({ domains }: Batch): Tensor {
  return cat(domains.map(({ x }, domain) => full([x.rows], domain, { dtype: "int64", device: x.device })));
}
