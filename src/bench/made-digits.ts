/** Writes pictures in the files of MNIST, for benchmarks on machines without MNIST: ten blurred patterns with noise. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyedRandom } from "../engine/philox.js";

const SIZE = 28;

/** Writes `count` digits: six sevenths of them as training digits, the others as test digits. */
export function writeDigits(folder: string, count: number): void {
  mkdirSync(folder, { recursive: true });
  const training = Math.floor((count * 6) / 7);
  for (const [part, first, end] of [
    ["train", 0, training],
    ["t10k", training, count],
  ] as const) {
    const labels = Uint8Array.from({ length: end - first }, (_, i) => (first + i) % 10);
    const pixels = new Uint8Array((end - first) * SIZE * SIZE);
    // Noise from a small table, because millions of draws would take longer than a benchmark.
    const noise = keyedRandom(0, "digits").permutation(8192);
    for (let i = 0; i < pixels.length; i++) {
      const [row, column] = [Math.floor(i / SIZE) % SIZE, i % SIZE];
      const digit = labels[Math.floor(i / (SIZE * SIZE))];
      const ink = Math.sin((row * (digit + 2)) / 9) + Math.cos((column * (digit + 1)) / 7);
      pixels[i] = ink > 0.5 ? 160 + (noise[(i * 7) % 8191] % 96) : 0;
    }
    writeFileSync(join(folder, `${part}-images-idx3-ubyte`), withHeader([end - first, SIZE, SIZE], pixels));
    writeFileSync(join(folder, `${part}-labels-idx1-ubyte`), withHeader([end - first], labels));
  }
}

function withHeader(shape: readonly number[], data: Uint8Array): Buffer {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header.writeUInt32BE(0x800 + shape.length, 0);
  for (const [i, size] of shape.entries()) header.writeUInt32BE(size, 4 + 4 * i);
  return Buffer.concat([header, data]);
}
