/** Two pictures of squares in several sizes and colours, made of whole numbers as in tests/vectors/imagenet.py. */

import { type Tensor, tensor } from "../../src/engine/tensor.js";

/** float32[2, 3, 224, 224], roughly as normalised pictures are. */
export function squares(): Tensor {
  const size = 224;
  const values = new Float32Array(2 * 3 * size * size);
  let place = 0;
  for (let n = 0; n < 2; n++) {
    for (let c = 0; c < 3; c++) {
      for (let y = 0; y < size; y++) {
        for (let x = 0; x < size; x++) {
          const colour = Math.floor(x / (8 + 8 * n)) * (3 + c) + Math.floor(y / 16) * (5 + 2 * n) + 7 * c;
          values[place++] = (colour % 23) / 11 - 1;
        }
      }
    }
  }
  return tensor(values, { shape: [2, 3, size, size] });
}
