/** The domain of each sample of a batch. */

import { cat, full } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import type { Batch } from "./algorithm.js";

/** Returns the index of the domain for every row of `batch.x`: int64 [n]. */
export function domainLabels({ domains }: Batch): Tensor {
  return cat(domains.map(({ x }, domain) => full([x.rows], domain, { dtype: "int64", device: x.device })));
}
