import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DataError } from "../errors.js";
import { lineChart } from "./plot.js";
import { textToStrokes, textWidth } from "./stroke-font.js";
import { glyphs } from "./stroke-glyphs.js";
import { svgDocument, text } from "./svg.js";
import { writeFigure } from "./write-figure.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nudge-figure-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const chart = lineChart({
  title: "Accuracy & λ",
  xLabel: "x",
  yLabel: "y",
  series: [
    {
      label: "a",
      points: [
        { x: 0, y: 0 },
        { x: 1, y: 1 },
      ],
    },
  ],
});

async function darkPixels(svg: string): Promise<number> {
  const pixels = await sharp(Buffer.from(svg)).greyscale().raw().toBuffer();
  return pixels.reduce((count, value) => count + (value < 128 ? 1 : 0), 0);
}

test("a figure is written as SVG and as a PNG of twice its size, and leaves nothing else", async () => {
  const files = await writeFigure(chart, join(folder, "deep", "figure"));
  expect(files).toEqual([join(folder, "deep", "figure.svg"), join(folder, "deep", "figure.png")]);
  expect(readdirSync(join(folder, "deep")).sort()).toEqual(["figure.png", "figure.svg"]);
  expect(readFileSync(files[0], "utf8")).toBe(`${chart}\n`);
  const { format, width, height } = await sharp(files[1]).metadata();
  expect({ format, width, height }).toEqual({ format: "png", width: 1120, height: 800 });
});

test("a figure that cannot be written is an error naming it", async () => {
  writeFileSync(join(folder, "file"), "");
  await expect(writeFigure(chart, join(folder, "file", "figure"))).rejects.toThrow(DataError);
});

test("without fonts plain text is boxes, and strokes are the same picture as with fonts", () => {
  writeFileSync(join(folder, "fonts.conf"), `<?xml version="1.0"?><fontconfig><dir>${folder}/none</dir></fontconfig>`);
  const line = (content: string) => svgDocument(200, 40, "", text(10, 30, content, { size: 24 }));
  const pictures = [
    line("erm"),
    line("abc"),
    textToStrokes(line("erm")),
    textToStrokes(line("abc")),
    textToStrokes(chart),
  ];
  const script = `import sharp from ${JSON.stringify(import.meta.resolve("sharp"))};
    import { createHash } from "node:crypto";
    for (const svg of ${JSON.stringify(pictures)})
      console.log(createHash("sha256").update(await sharp(Buffer.from(svg)).raw().toBuffer()).digest("hex"));`;
  const render = (env: object) =>
    execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env: { ...process.env, ...env },
    }).split("\n");
  const here = render({});
  const fontless = render({ FONTCONFIG_FILE: join(folder, "fonts.conf") });
  expect(fontless[0]).toBe(fontless[1]); // "erm" and "abc" both become three boxes, which is why text is drawn as strokes
  expect(fontless[2]).not.toBe(fontless[3]);
  expect(fontless.slice(2)).toEqual(here.slice(2));
});

test("every glyph of the stroke font but the space leaves ink", async () => {
  for (const [character] of glyphs) {
    const ink = await darkPixels(textToStrokes(svgDocument(80, 60, "", text(30, 40, character, { size: 30 }))));
    if (character === " ") expect(ink).toBe(0);
    else expect(ink, `ink of ${character}`).toBeGreaterThan(4);
  }
});

test("printable ASCII and the method's symbols all have a glyph", () => {
  const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
  for (const character of [...ascii, ..."−–±×≤≥≈∞√‖∗λγαβθσμρΦΔ·…→"])
    expect(glyphs.has(character), character).toBe(true);
});

test("strokes keep anchor, turn and colour, and read escaped text", () => {
  const middle = textToStrokes(text(100, 50, "ab", { anchor: "middle", size: 9.6, color: "#D55E00", rotate: -90 }));
  expect(middle).toContain(
    `rotate(-90 100 50) translate(${Math.round((100 - textWidth("ab", 9.6) / 2) * 100) / 100} 50)`,
  );
  expect(middle).toContain('stroke="#D55E00"');
  expect(textToStrokes(text(0, 0, "<&>")).match(/<path/g)).toHaveLength(3);
  expect(textToStrokes(chart)).not.toContain("<text");
});

test("accents are set as their base letter, superscripts small, and unknown characters as a box", () => {
  expect(textToStrokes(text(0, 0, "é"))).toBe(textToStrokes(text(0, 0, "e")));
  expect(textWidth("²", 10)).toBeLessThan(textWidth("2", 10));
  expect(textToStrokes(text(0, 0, "中"))).toContain("M0 0V7H4V0Z");
});
