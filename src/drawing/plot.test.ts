import sharp from "sharp";
import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { type LineChart, lineChart, panels, type ScatterChart, scatterChart } from "./plot.js";

const line: LineChart = {
  title: 'A <b> & "c" \u0001 \ud800 λ‖F‖_*',
  xLabel: "x",
  yLabel: "y",
  series: [
    { label: "bars", points: [1, 2, 3].map((x) => ({ x, y: x, lo: x - 0.5, hi: x + 1 })), marker: true },
    {
      label: "band <i>",
      points: Array.from({ length: 20 }, (_, i) => ({ x: 1 + i / 10, y: 1, lo: 0, hi: 2 })),
      dash: true,
    },
    { label: "one point", points: [{ x: 2, y: 5 }] },
    { label: "nothing", points: [] },
  ],
  note: "n & m",
};

const scatter: ScatterChart = {
  title: "points",
  xLabel: "x₁",
  yLabel: "x₂",
  classes: [
    { label: "y = −1", points: [{ x: -0.5, y: 0.2 }] },
    {
      label: "y = 1",
      points: [
        { x: 0.5, y: 0.2 },
        { x: 9, y: 9 },
      ],
    },
  ],
  lines: [
    { a: 1, b: 0.5, c: 0, label: "boundary" },
    { a: 1, b: 0, c: 99 },
  ],
  halfPlanes: [{ a: 1, b: 0.5, c: 0, color: "#0072B2" }],
  words: [{ x: 0, y: 0, text: "0.94 <" }],
  ...{ xMin: -1, xMax: 1, yMin: -1, yMax: 1 },
};

// The XML parser of the renderer rejects a document that is not well-formed.
const size = async (svg: string) => {
  const { width, height } = await sharp(Buffer.from(svg)).metadata();
  return { width, height };
};

test("charts and panels of them are well-formed XML of the size asked for", async () => {
  expect(await size(lineChart({ ...line, width: 500, height: 420 }))).toEqual({ width: 500, height: 420 });
  expect(await size(scatterChart({ ...scatter, width: 300, height: 300 }))).toEqual({ width: 300, height: 300 });
  const both = [lineChart({ ...line, width: 500, height: 420 }), scatterChart({ ...scatter, width: 300, height: 300 })];
  expect(await size(panels(both))).toEqual({ width: 800, height: 420 });
  expect(await size(panels(both, { columns: 1, title: "two & more" }))).toEqual({ width: 500, height: 754 });
  expect(await size(panels([panels(both), both[0]], { columns: 1 }))).toEqual({ width: 800, height: 840 });
});

test("the judge does refuse broken XML", async () => {
  await expect(size(lineChart(line).replace("&amp;", "&"))).rejects.toThrow();
});

test("a chart holds no number that is not finite, and no raw label", () => {
  for (const svg of [lineChart(line), scatterChart(scatter)]) {
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    for (const raw of ["<b>", "<i>", "\u0001"]) expect(svg).not.toContain(raw);
  }
});

test("points are drawn where the axes say", () => {
  const svg = lineChart({
    ...line,
    series: [
      {
        label: "a",
        points: [
          { x: 0, y: 0 },
          { x: 1, y: 1 },
        ],
      },
    ],
    yMin: 0,
    yMax: 1,
  });
  const [, top, bottom] = /<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="none"/
    .exec(svg)!
    .map(Number);
  const [first, last] = /<polyline points="([^"]+)"/
    .exec(svg)![1]
    .split(" ")
    .map((pair) => pair.split(",").map(Number));
  expect(first[1]).toBeCloseTo(top + bottom, 1); // y = yMin is on the lower edge
  expect(last[1]).toBeCloseTo(top, 1);
  expect(last[0]).toBeGreaterThan(first[0]);
});

test("few points with a range get error bars, many a band", () => {
  expect(lineChart({ ...line, series: [line.series[0]] })).toMatch(/<path d="M[\d. ]+V/);
  expect(lineChart({ ...line, series: [line.series[0]] })).not.toContain("<polygon");
  expect(lineChart({ ...line, series: [line.series[1]] })).toContain("<polygon");
});

test("points outside the frame are not drawn in a scatter chart, and neither are lines outside it", () => {
  const svg = scatterChart(scatter);
  expect(svg.match(/<circle/g)).toHaveLength(2); // the only point of the first class, and its legend entry
  expect(svg.match(/l4.2 7.4h-8.4z/g)).toHaveLength(2); // one of the two points of the second class (the other one is outside), and its legend entry
  expect(svg.match(/stroke="#222222"/g)).toHaveLength(2); // the boundary and its legend entry
});

test.each([
  ["y", { x: 1, y: Number.NaN }],
  ["x", { x: Number.POSITIVE_INFINITY, y: 0 }],
  ["hi", { x: 1, y: 0, lo: 0, hi: Number.NaN }],
])("a %s that is not finite is an error naming series and point", (key, point) => {
  const chart = { ...line, title: "t", series: [{ label: "erm", points: [{ x: 0, y: 0 }, point] }] };
  expect(() => lineChart(chart)).toThrow(`chart "t", series "erm", point 1, ${key}: expected a finite number`);
});

test("wrong charts are usage errors", () => {
  expect(() => lineChart({ ...line, series: [{ label: "a", points: [{ x: 0, y: 0, lo: 1 }] }] })).toThrow(UsageError);
  expect(() => lineChart({ ...line, height: 90 })).toThrow(/no room/);
  expect(() => lineChart({ ...line, logX: true, series: [{ label: "a", points: [{ x: 0, y: 0 }] }] })).toThrow(
    /logarithmic/,
  );
  expect(() => scatterChart({ ...scatter, lines: [{ a: Number.NaN, b: 0, c: 0 }] })).toThrow(UsageError);
  expect(() => panels(["<p>"])).toThrow(/not an SVG/);
  expect(() => panels([], { columns: 0 })).toThrow(UsageError);
});
