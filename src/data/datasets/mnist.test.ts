import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../../tests/support/picture-folder.js";
import { pictureRotator } from "../rotate-picture.js";
import { coloredMnist } from "./colored-mnist.js";
import { rotatedMnist } from "./rotated-mnist.js";

function idx(shape: readonly number[], data: Uint8Array): Buffer {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header.writeUInt32BE(0x800 + shape.length);
  for (const [i, size] of shape.entries()) header.writeUInt32BE(size, 4 + 4 * i);
  return Buffer.concat([header, data]);
}

const size = 4;
/** Picture n has its number in its first two pixels, and ink (255) in the third. */
const picture = (n: number): number[] => [n % 256, Math.floor(n / 256), 255, ...new Array(size * size - 3).fill(0)];
const digit = (n: number): number => n % 10;

/** A small MNIST: `train` and `test` pictures, numbered through. */
function mnist(train: number, test: number, { folder = "MNIST/raw", gzip = false } = {}): string {
  const root = temporaryFolder();
  let first = 0;
  for (const [name, count] of Object.entries({ train, t10k: test })) {
    const numbers = Array.from({ length: count }, (_, i) => first + i);
    first += count;
    const files = {
      [`${name}-images-idx3-ubyte`]: idx([count, size, size], Uint8Array.from(numbers.flatMap(picture))),
      [`${name}-labels-idx1-ubyte`]: idx([count], Uint8Array.from(numbers, digit)),
    };
    for (const [file, bytes] of Object.entries(files))
      writeFile(root, `${folder}/${file}${gzip ? ".gz" : ""}`, gzip ? gzipSync(bytes) : bytes);
  }
  return root;
}

const numberOf = (pixels: ArrayLike<number>): number => pixels[0] + 256 * pixels[1];

test("rotated MNIST deals every digit once to six domains, each turned by its angle", async () => {
  const root = mnist(60, 10);
  const dataset = await rotatedMnist.open({ root, options: {} });
  expect(dataset).toMatchObject({
    inputShape: [1, size, size],
    augmentable: false,
    options: { seed: 0, interpolation: "bilinear" },
  });
  expect(dataset.domains.map(({ name, count }) => [name, count])).toEqual(
    ["0", "15", "30", "45", "60", "75"].map((name, i) => [name, i < 4 ? 12 : 11]),
  );
  const plain = dataset.domains[0];
  for (let i = 0; i < plain.count; i++) expect(digit(numberOf(plain.read?.(i) ?? []))).toBe(plain.labels[i]);
  // The other domains hold the other digits: turning all of those by the domain's angle gives its pictures, in some order.
  const dealt = new Set(Array.from({ length: plain.count }, (_, i) => numberOf(plain.read?.(i) ?? [])));
  for (const [d, angle] of [15, 30, 45, 60, 75].entries()) {
    const rotate = pictureRotator(size, size, angle, "bilinear");
    const turned = new Map(Array.from({ length: 70 }, (_, n) => [String(rotate(Uint8Array.from(picture(n)))), n]));
    const { count, read } = dataset.domains[d + 1];
    for (let i = 0; i < count; i++) expect(turned.has(String(read?.(i)))).toBe(true);
  }
  expect(dealt.size).toBe(12);
  const labels = dataset.domains.flatMap((domain) => Array.from(domain.labels)).sort((a, b) => a - b);
  expect(labels).toEqual(Array.from({ length: 70 }, (_, n) => Math.floor(n / 7)));
});

test("the seed decides which digits go where, and gzipped files in any folder are the same", async () => {
  const labels = async (root: string, seed: number) =>
    (await rotatedMnist.open({ root, options: { seed } })).domains.map((domain) => Array.from(domain.labels));
  const first = await labels(mnist(60, 10), 0);
  expect(await labels(mnist(60, 10, { folder: ".", gzip: true }), 0)).toEqual(first);
  expect(await labels(mnist(60, 10), 1)).not.toEqual(first);
});

test("colored MNIST has its label noise and its colours, and holds the digit in one channel", async () => {
  const total = 9000;
  const dataset = await coloredMnist.open({ root: mnist(total - 1000, 1000), options: {} });
  expect(dataset).toMatchObject({ inputShape: [2, size, size], classes: ["5 to 9", "0 to 4"], augmentable: false });
  expect(dataset.domains.map(({ name, count }) => [name, count])).toEqual([
    ["+90%", 3000],
    ["+80%", 3000],
    ["-90%", 3000],
  ]);
  const seen = new Set<number>();
  const shares = dataset.domains.map(({ labels, count, read }) => {
    let [noisy, coloured] = [0, 0];
    for (let i = 0; i < count; i++) {
      const pixels = read?.(i) as Uint8Array;
      const channels = [0, 1].map((channel) => pixels.filter((_, k) => k % 2 === channel));
      const colour = channels.findIndex((values) => values[2] === 255);
      expect(channels[1 - colour].every((value) => value === 0)).toBe(true);
      const number = numberOf(channels[colour]);
      seen.add(number);
      if (Number(digit(number) < 5) !== labels[i]) noisy++;
      if (colour === labels[i]) coloured++;
    }
    return [noisy / count, coloured / count];
  });
  expect(seen.size).toBe(total);
  // Four standard errors of 3,000 draws: 0.032 around a quarter, 0.030 around 0.8, 0.022 around 0.9 and 0.1.
  for (const [d, agreement] of [0.9, 0.8, 0.1].entries()) {
    expect(Math.abs(shares[d][0] - 0.25)).toBeLessThan(0.032);
    expect(Math.abs(shares[d][1] - agreement)).toBeLessThan(0.03);
  }
});

test("files that are not MNIST's are errors that name them", async () => {
  const open = (root: string) => rotatedMnist.open({ root, options: {} });
  await expect(open(temporaryFolder())).rejects.toThrow(/expected train-images-idx3-ubyte, .* found none of them$/);
  const short = mnist(3, 1);
  const labels = "MNIST/raw/train-labels-idx1-ubyte";
  writeFile(short, labels, idx([3], Uint8Array.of(1, 2)));
  await expect(open(short)).rejects.toThrow(
    /train-labels-idx1-ubyte: expected 3 bytes after the header \(3\), got 2: download it again$/,
  );
  writeFile(short, labels, "<html>not found</html>");
  await expect(open(short)).rejects.toThrow(
    /expected an idx file of bytes in 1 dimension \(beginning 00 00 08 01\), got 3c68746d$/,
  );
  writeFile(short, labels, idx([2], Uint8Array.of(1, 2)));
  await expect(open(short)).rejects.toThrow(/has 3 pictures, train-labels-idx1-ubyte has 2 labels$/);
  writeFile(short, labels, idx([3], Uint8Array.of(1, 2, 10)));
  await expect(open(short)).rejects.toThrow(/label 2 is 10, not a digit$/);
  const partial = temporaryFolder();
  writeFile(partial, "train-images-idx3-ubyte", idx([0, 4, 4], new Uint8Array()));
  await expect(open(partial)).rejects.toThrow(
    /train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte are missing$/,
  );
  await expect(rotatedMnist.open({ root: partial, options: { interpolation: "nearest" } })).rejects.toThrow(
    /expected interpolation to be bilinear or bicubic/,
  );
});
