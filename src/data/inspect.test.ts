import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { pictureBytes, temporaryFolder, writeFile, writePictures } from "../../tests/support/picture-folder.js";
import { decodeFile } from "./decode.js";
import { type Inspection, inspectDataset } from "./inspect.js";
import { inspectionHtml } from "./inspect-html.js";
import { inspectionText } from "./inspect-text.js";
import { contactSheet, spacedPlaces } from "./inspect-thumbnails.js";
import { openDataset } from "./open-dataset.js";

/** A folder with everything that can be wrong. */
async function troubled(): Promise<string> {
  const root = temporaryFolder();
  await writePictures(root, { "day/cat": 3, "day/dog": 2, "night/cat": 2 });
  writeFile(root, "day/cat/empty.jpg");
  writeFile(root, "day/dog/page.jpg", "<html>not found</html>");
  writeFile(root, "day/dog/really.png", await pictureBytes("x.jpg", 900));
  const cut = await pictureBytes("x.jpg", 901, { width: 200, height: 100 });
  writeFile(root, "night/cat/cut.jpg", cut.subarray(0, -40));
  writeFile(root, "night/cat/turned.jpg", await pictureBytes("x.jpg", 902, { orientation: 6 }));
  writeFile(root, "night/cat/copy.png", readFileSync(join(root, "day/cat/1.png")));
  writeFile(root, "day/dog/copy.png", readFileSync(join(root, "day/cat/0.png")));
  writeFile(root, "day/dog/again.png", readFileSync(join(root, "day/dog/1.png")));
  return root;
}

test("everything wrong with a folder is found, and named", async () => {
  const inspection = await inspectDataset(await openDataset(await troubled()));
  expect(inspection.counts).toEqual([
    [4, 6],
    [5, 0],
  ]);
  expect(inspection.problems).toEqual([
    { kind: "unusable", file: "day/cat/empty.jpg", what: "empty: it has no bytes" },
    { kind: "unusable", file: "day/dog/page.jpg", what: expect.stringContaining("an HTML page") },
    { kind: "misnamed", file: "day/dog/really.png", what: "called PNG, but its content is JPEG" },
    { kind: "truncated", file: "night/cat/cut.jpg", what: "truncated: a JPEG of 200 × 100 pixels without its end" },
  ]);
  const files = (groups: Inspection["duplicates"]) =>
    groups &&
    Object.fromEntries(
      Object.entries(groups).map(([kind, list]) => [
        kind,
        list.map((group: { file: string }[]) => group.map(({ file }) => file)),
      ]),
    );
  expect(files(inspection.duplicates)).toEqual({
    acrossDomains: [["day/cat/1.png", "night/cat/copy.png"]],
    acrossClasses: [["day/cat/0.png", "day/dog/copy.png"]],
    withinClass: [["day/dog/1.png", "day/dog/again.png"]],
  });
  expect(inspection.pictures?.[1]).toMatchObject({
    formats: { PNG: 3, JPEG: 2 },
    width: { least: 8, median: 8, most: 200 },
    height: { least: 6, median: 6, most: 100 },
    turned: 1,
  });
  expect(inspection.notes).toEqual([
    'domain "night" has no pictures of 1 class that other domains have: "dog"',
    '"dog" is a class of domain "day" only: if that domain is held out, no model can learn it, and all its pictures count as wrong',
    'domain "day" has 10 samples, of which 80 % are used for training: fewer than the default batch of 32, so every batch repeats some',
    'domain "night" has 5 samples, of which 80 % are used for training: fewer than the default batch of 32, so every batch repeats some',
    "EXIF data requests a rotation of 1 picture; they are rotated when they are read",
  ]);
});

test("pictures that only look whole are found by decoding them", async () => {
  const root = temporaryFolder();
  await writePictures(root, { "a/x": 2, "b/x": 1 });
  const damaged = await pictureBytes("x.png", 7, { width: 40, height: 40 });
  damaged.fill(0x55, 60, damaged.length - 12); // pixels and check sums, not the end
  writeFile(root, "b/x/damaged.png", damaged);
  const dataset = await openDataset(root);
  expect((await inspectDataset(dataset)).problems).toEqual([]);
  const deep = await inspectDataset(dataset, { deep: true });
  expect(deep.decoded).toBe(4);
  expect(deep.problems).toMatchObject([{ file: "b/x/damaged.png", kind: expect.stringMatching(/broken|truncated/) }]);
});

test("a JPEG with damaged data is used as PIL does, and reported by decoding it", async () => {
  const root = temporaryFolder();
  await writePictures(root, { "a/x": 2, "b/x": 1 });
  for (const progressive of [false, true]) {
    const pixels = Buffer.from(Uint8Array.from({ length: 120 * 90 * 3 }, (_, i) => (i * 7919) >> 5));
    const whole = await sharp(pixels, { raw: { width: 120, height: 90, channels: 3 } })
      .jpeg({ progressive })
      .toBuffer();
    writeFile(root, `b/x/whole-${progressive}.jpg`, whole);
    if (!progressive) {
      const unusual = Buffer.from(whole);
      const scan = unusual.indexOf(Buffer.from([0xff, 0xda]));
      unusual[scan + 6 + 2 * unusual[scan + 4]] = 0; // the end of the spectral selection, which a baseline decoder ignores
      writeFile(root, "b/x/unusual.jpg", unusual);
    }
    const damaged = Buffer.from(whole);
    damaged.fill(0, Math.floor(whole.length * 0.4), Math.floor(whole.length * 0.9)); // the scan runs on and ends early
    writeFile(root, `b/x/damaged-${progressive}.jpg`, damaged);
  }
  const dataset = await openDataset(root);
  expect((await inspectDataset(dataset)).problems).toEqual([]);
  const { problems, ...deep } = await inspectDataset(dataset, { deep: true });
  const what = expect.stringMatching(
    /^parts of the picture may be wrong \((Corrupt JPEG data: .*|damaged JPEG data)\)$/,
  );
  expect(problems).toEqual([
    { kind: "damaged", file: "b/x/damaged-false.jpg", what },
    { kind: "damaged", file: "b/x/damaged-true.jpg", what },
  ]);
  expect(inspectionText({ ...deep, problems })).toContain("2 files have damaged data");
  expect(await decodeFile(join(root, "b/x/damaged-true.jpg"))).toMatchObject({ truncated: false, width: 120 });
});

test("files that differ only in the middle are not duplicates", async () => {
  const root = temporaryFolder();
  const bytes = Buffer.concat([Buffer.from("P6 80 80 255\n"), Buffer.alloc(3 * 80 * 80)]);
  const other = Buffer.from(bytes);
  other[6000] ^= 1;
  for (const [name, content] of [
    ["a/x/1.ppm", bytes],
    ["b/x/1.ppm", other],
    ["b/x/2.ppm", bytes],
  ] as const)
    writeFile(root, name, content);
  const { duplicates } = await inspectDataset(await openDataset(root));
  expect(duplicates?.acrossDomains.map((group) => group.map(({ file }) => file))).toEqual([["a/x/1.ppm", "b/x/2.ppm"]]);
});

test("the text has the counts, the findings and the notes", async () => {
  const text = inspectionText(await inspectDataset(await openDataset(await troubled())));
  expect(text).toMatch(/^Folder of pictures \(image-folder\) in \S+: 15 pictures, 2 domains, 2 classes, \S+ kB\n/);
  expect(text).toContain(
    "class  day  night  all\ncat      4      5    9\ndog      6      0    6\nall     10      5   15\n",
  );
  expect(text).toMatch(/^night +PNG 3, JPEG 2 +8 … 8 … 200 +6 … 6 … 100 +\S+ kB +1$/m);
  expect(text).toContain("2 files cannot be used:\n  day/cat/empty.jpg: empty: it has no bytes\n");
  expect(text).toContain("1 file looks truncated:\n  night/cat/cut.jpg: truncated");
  expect(text).toContain("(training would see pictures of a held-out domain):\n  day/cat/1.png = night/cat/copy.png\n");
  expect(text).toContain("note: EXIF data requests a rotation of 1 picture");
});

test("names cannot break out of the text or the page", async () => {
  const root = temporaryFolder();
  const odd = '<script>alert("1")\n\x1b[31m';
  await writePictures(root, [`a/x/1.png`, `b/${odd}/2.png`, `b/x/3.png`]);
  const dataset = await openDataset(root);
  const inspection = await inspectDataset(dataset);
  const text = inspectionText(inspection);
  expect(text).not.toContain("\x1b");
  expect(text).toContain("\\n\\u{1b}[31m");
  const page = inspectionHtml(inspection, await contactSheet(dataset));
  expect(page).not.toContain("<script");
  expect(page).toContain("&lt;script&gt;");
});

test("the page shows every class and domain, small pictures inside it, and needs no other file", async () => {
  const dataset = await openDataset(await troubled());
  const sheet = await contactSheet(dataset);
  expect(sheet.map((row) => row.map((cell) => cell.length))).toEqual([
    [4, 5],
    [6, 0],
  ]);
  const broken = sheet.flat(2).filter(({ uri }) => uri === undefined);
  expect(broken.map(({ name }) => name)).toEqual(["day/cat/empty.jpg", "day/dog/page.jpg"]);
  const page = inspectionHtml(await inspectDataset(dataset), sheet);
  expect(page.match(/<img src="data:image\/webp;base64,/g)).toHaveLength(13);
  expect(page).not.toMatch(/(src|href)="(?!data:)/);
  const file = join(temporaryFolder(), "page.html");
  writeFileSync(file, page);
  expect(readFileSync(file, "utf8")).toBe(page);
});

test("generated pictures can be looked at too", async () => {
  const dataset = await openDataset("shapes", { options: { size: 12, perCell: 2 } });
  const inspection = await inspectDataset(dataset);
  expect(inspection).toMatchObject({ total: 56, pictures: null, duplicates: null, problems: [] });
  expect(inspectionText(inspection)).toMatch(/^Shapes \(shapes\): 56 samples, 4 domains, 7 classes\n/);
  const sheet = await contactSheet(dataset);
  expect(sheet.flat(2).every(({ uri }) => uri?.startsWith("data:image/webp"))).toBe(true);
});

test("a sheet's samples are spread over the whole list", () => {
  expect(spacedPlaces(100, 4)).toEqual([12, 37, 62, 87]);
  expect(spacedPlaces(3, 8)).toEqual([0, 1, 2]);
  expect(spacedPlaces(0, 8)).toEqual([]);
});
