import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { UsageError } from "../../errors.js";
import { renderShape, SHAPES_CLASSES, SHAPES_DOMAINS, shapesDataset, wallpaperOf } from "./shapes.js";

function sha256(pictures: Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const pixels of pictures) hash.update(pixels);
  return hash.digest("hex");
}

/** The hue of a picture's border, from 0 to 1: of the mean colour of its outermost pixels. */
function borderHue(pixels: Uint8Array, size: number): number {
  const sum = [0, 0, 0];
  for (let i = 0; i < size * size; i++) {
    const [row, column] = [Math.floor(i / size), i % size];
    if (row > 0 && row < size - 1 && column > 0 && column < size - 1) continue;
    for (let channel = 0; channel < 3; channel++) sum[channel] += pixels[3 * i + channel];
  }
  const [red, green, blue] = sum;
  const low = Math.min(red, green, blue);
  const range = Math.max(red, green, blue) - low;
  if (low === blue && red >= green) return (green - blue) / range / 6;
  if (low === blue) return (2 - (red - blue) / range) / 6;
  if (low === red) return green >= blue ? (2 + (blue - red) / range) / 6 : (4 - (green - red) / range) / 6;
  return blue >= red ? (4 + (red - green) / range) / 6 : (6 - (blue - green) / range) / 6;
}

test("there are four domains and seven classes, and classes take turns in each domain", () => {
  const data = shapesDataset({ perCell: 3 });
  expect(data.domains).toEqual(["filled", "outlined", "textured", "inverted"]);
  expect(data.classes).toEqual(["circle", "square", "triangle", "star", "cross", "ring", "crescent"]);
  expect(data.inputShape).toEqual([3, 32, 32]);
  expect(data.options).toEqual({ size: 32, perCell: 3, seed: 0, cue: 0.8, misleading: "" });
  for (let domain = 0; domain < 4; domain++) {
    expect(data.count(domain)).toBe(21);
    const labels = Array.from({ length: 21 }, (_, i) => data.picture(domain, i).label);
    expect(labels).toEqual(Array.from({ length: 21 }, (_, i) => i % 7));
    expect(labels).toEqual(Array.from({ length: 21 }, (_, i) => data.label(domain, i)));
  }
});

test("the same seed gives the same pixels on every machine", () => {
  const hashes = [12, 32, 65].map((size) => {
    const data = shapesDataset({ size, perCell: 4, seed: 7 });
    return sha256(data.domains.flatMap((_, d) => Array.from({ length: 28 }, (_, i) => data.picture(d, i).pixels)));
  });
  expect(hashes).toEqual([
    "fe873fdc71f51e60b1357c9319a5b2d03fd91da439f145c22e0733d0dacf09b9",
    "cc6d82afb61ed131902b57b35dcb7c5d2a973441d65013969106697efbb405bd",
    "025f740bbcabbd27aaaff8884df5e3fe8a883ef257365e5549e30bd2de242bf0",
  ]);
});

test("another seed gives other pictures, and no two pictures are the same", () => {
  const pictures = [0, 1].flatMap((seed) => {
    const data = shapesDataset({ size: 16, perCell: 30, seed });
    return data.domains.flatMap((_, d) => Array.from({ length: 210 }, (_, i) => sha256([data.picture(d, i).pixels])));
  });
  expect(new Set(pictures).size).toBe(2 * 4 * 210);
});

test("more pictures a cell leave the first ones as they were", () => {
  const few = shapesDataset({ size: 16, perCell: 2 });
  const many = shapesDataset({ size: 16, perCell: 5 });
  for (let i = 0; i < 14; i++) expect(few.picture(2, i)).toEqual(many.picture(2, i));
});

test("a picture is the same scene at every size: a large one, made smaller, is the small one", () => {
  for (const domain of SHAPES_DOMAINS) {
    for (let label = 0; label < 7; label++) {
      const small = renderShape({ domain, label, index: 1, size: 48 });
      const large = renderShape({ domain, label, index: 1, size: 192 });
      let difference = 0;
      for (let i = 0; i < small.length; i++) {
        const [row, column, channel] = [Math.floor(i / 144), Math.floor(i / 3) % 48, i % 3];
        let sum = 0;
        for (let y = 0; y < 4; y++)
          for (let x = 0; x < 4; x++) sum += large[3 * ((4 * row + y) * 192 + 4 * column + x) + channel];
        difference += Math.abs(small[i] - sum / 16);
      }
      expect(difference / small.length, `${domain} ${SHAPES_CLASSES[label]}`).toBeLessThan(1.5); // of 255
    }
  }
});

test("a picture can be drawn into a larger buffer, and only its own bytes are written", () => {
  const data = shapesDataset({ size: 16 });
  const into = new Uint8Array(800).fill(1);
  const { pixels } = data.picture(1, 5, into);
  expect(pixels).toEqual(data.picture(1, 5).pixels);
  expect(pixels.buffer).toBe(into.buffer);
  expect([...into.subarray(768)]).toEqual(new Array(32).fill(1));
});

test("the wallpaper's tint can be read off the border of a picture in every domain", () => {
  const data = shapesDataset({ perCell: 20 });
  for (let domain = 0; domain < 4; domain++) {
    for (let i = 0; i < data.count(domain); i++) {
      const seventh = borderHue(data.picture(domain, i).pixels, 32) * 7;
      const off = Math.abs(seventh - data.wallpaper(domain, i));
      expect(Math.min(off, 7 - off), `${domain} ${i}`).toBeLessThan(0.5);
    }
  }
});

test("no label has the same wallpaper in two domains", () => {
  for (let label = 0; label < 7; label++)
    expect(new Set(SHAPES_DOMAINS.map((domain) => wallpaperOf(domain, label))).size).toBe(4);
});

/** How often each wallpaper stands behind each label, as 7 rows of 7 counts, read from the pictures' borders. */
function countWallpapers(data: ReturnType<typeof shapesDataset>, domain: number): number[][] {
  const counts = Array.from({ length: 7 }, () => new Array<number>(7).fill(0));
  for (let i = 0; i < data.count(domain); i++) {
    const { pixels, label } = data.picture(domain, i);
    counts[Math.round(borderHue(pixels, data.options.size) * 7) % 7][label]++;
  }
  return counts;
}

test.each([0, 1, 2, 3])(
  "whichever domain is held out (%i), the wallpaper tells the label in the training domains and misleads in that one",
  (heldOut) => {
    const data = shapesDataset({ size: 16, perCell: 60 });
    const all = SHAPES_DOMAINS.map((_, domain) => countWallpapers(data, domain));
    const training = [0, 1, 2, 3].filter((domain) => domain !== heldOut);
    const total = 7 * 60;
    const accuracy = (counts: number[][], reading: number[]) =>
      counts.reduce((sum, row, wallpaper) => sum + row[reading[wallpaper]], 0) / total;
    const best = (row: number[]) => row.indexOf(Math.max(...row));
    for (const domain of training) {
      const reading = all[domain].map(best); // learnt in one training domain, from pixels
      // 420 pictures: four standard deviations of a share of 0.8 are 0.08, of a share of 1/30 they are 0.035.
      expect(Math.abs(accuracy(all[domain], reading) - 0.8)).toBeLessThan(0.08);
      expect(Math.abs(accuracy(all[heldOut], reading) - 0.2 / 6)).toBeLessThan(0.035);
    }
    // The three labels each wallpaper speaks for, in the training domains together, hold few of the held-out pictures.
    const pooled = all[0].map((row, w) =>
      row.map((_, label) => training.reduce((sum, d) => sum + all[d][w][label], 0)),
    );
    const three = pooled.map((row) => [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, 3));
    const held =
      all[heldOut].reduce((sum, row, w) => sum + three[w].reduce((s, label) => s + row[label], 0), 0) / total;
    expect(Math.abs(held - 3 * (0.2 / 6))).toBeLessThan(0.06); // four deviations of a share of 0.1; chance would be 3/7
  },
);

test("with a misleading domain, one table is right in all others, and in that one it is right by chance in few pictures", () => {
  const data = shapesDataset({ size: 16, perCell: 60, cue: 0.9, misleading: "textured" });
  const right = SHAPES_DOMAINS.map((_, domain) => {
    const counts = countWallpapers(data, domain);
    return counts.reduce((sum, row, wallpaper) => sum + row[wallpaper], 0) / 420;
  });
  // Four standard deviations of a share of 0.9 are 0.06, of a share of 0.1/6 they are 0.025.
  for (const name of ["filled", "outlined", "inverted"])
    expect(Math.abs(right[SHAPES_DOMAINS.indexOf(name as never)] - 0.9)).toBeLessThan(0.06);
  expect(Math.abs(right[SHAPES_DOMAINS.indexOf("textured")] - 0.1 / 6)).toBeLessThan(0.025);
  // The wallpapers are all that changes: in a domain whose table stays the same, so do the pictures.
  const plain = shapesDataset({ size: 16, perCell: 60, cue: 0.9 });
  expect(data.picture(0, 7).pixels).toEqual(plain.picture(0, 7).pixels);
  expect(data.wallpaper(2, 7)).toBe((plain.wallpaper(2, 7) + 6) % 7);
});

/** Where the lightness changes, 16 × 16: the size of the gradient, averaged over blocks of 2 × 2. */
function edgeMap(pixels: Uint8Array): Float64Array {
  const map = new Float64Array(256);
  const light = (row: number, column: number) => {
    const at = 3 * (32 * row + column);
    return 0.299 * pixels[at] + 0.587 * pixels[at + 1] + 0.114 * pixels[at + 2];
  };
  for (let row = 0; row < 31; row++)
    for (let column = 0; column < 31; column++)
      map[16 * (row >> 1) + (column >> 1)] += Math.hypot(
        light(row + 1, column) - light(row, column),
        light(row, column + 1) - light(row, column),
      );
  return map;
}

test.each([0, 1, 2, 3])("the nearest mean edge map tells the classes of domain %i apart, without the cue", (domain) => {
  const data = shapesDataset({ perCell: 100, cue: 1 / 7 });
  const means = Array.from({ length: 7 }, () => new Float64Array(256));
  for (let i = 0; i < 490; i++)
    edgeMap(data.picture(domain, i).pixels).forEach((value, j) => {
      means[i % 7][j] += value / 70;
    });
  let right = 0;
  for (let i = 490; i < 700; i++) {
    const map = edgeMap(data.picture(domain, i).pixels);
    const off = means.map((mean) => mean.reduce((sum, value, j) => sum + (value - map[j]) ** 2, 0));
    if (off.indexOf(Math.min(...off)) === i % 7) right++;
  }
  expect(right / 210).toBeGreaterThan(0.4); // chance is 0.14
});

test("invalid options and arguments are refused with clear errors", () => {
  const refused = (act: () => unknown, words: string) => {
    expect(act).toThrow(UsageError);
    expect(act).toThrow(words);
  };
  refused(() => shapesDataset({ size: 11 }), "expected size to be an integer from 12 to 4096, got 11");
  refused(() => shapesDataset({ size: 32.5 }), "size");
  refused(() => shapesDataset({ perCell: 0 }), "expected perCell to be an integer from 1");
  refused(() => shapesDataset({ seed: 0.5 }), "seed");
  refused(() => shapesDataset({ cue: 1.1 }), "expected cue to be a probability from 0 to 1, got 1.1");
  refused(() => shapesDataset({ cue: Number.NaN }), "cue");
  const data = shapesDataset({ perCell: 2 });
  refused(() => data.picture(4, 0), "expected a domain to be an integer from 0 to 3, got 4");
  refused(() => data.count(-1), "a domain");
  refused(() => data.label(0, 14), "expected a picture to be an integer from 0 to 13, got 14");
  refused(() => data.picture(0, 0, new Uint8Array(10)), "needs 3072 bytes, got room for 10");
  refused(() => renderShape({ domain: "fillet", label: 0, index: 0 }), 'did you mean "filled"?');
  refused(() => shapesDataset({ misleading: "texture" }), 'did you mean "textured"?');
  refused(() => renderShape({ domain: "filled", label: 7, index: 0 }), "a label");
  refused(() => renderShape({ domain: "filled", label: 0, index: -1 }), "an index");
});
