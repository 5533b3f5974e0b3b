import { expect, test } from "vitest";
import { cellNumbers, Notes, type TableCell, type TableRow, withMarks } from "./table.js";

const cell = (mean: number | null, more: Partial<TableCell> = {}): TableCell => ({
  mean,
  error: null,
  trials: null,
  mark: null,
  note: null,
  ...more,
});
const row = (cells: TableCell[], kind: TableRow["kind"] = "own"): TableRow => ({ kind, title: "", method: "", cells });
const marksOf = (rows: TableRow[]): (string | null)[] => withMarks(rows).map(({ cells }) => cells[0].mark);

test("the best and the second are marked by what is printed, so equals are marked alike", () => {
  const rows = [0.8001, 0.8004, 0.75, 0.7].map((mean) => row([cell(mean)]));
  expect(marksOf(rows)).toEqual(["best", "best", "second", null]);
});

test("partial, empty and published cells do not compete, and one alone is not the best", () => {
  expect(marksOf([row([cell(0.9, { note: 1 })]), row([cell(0.8)]), row([cell(0.7)])])).toEqual([
    null,
    "best",
    "second",
  ]);
  expect(marksOf([row([cell(0.8)]), row([cell(0.9)], "published"), row([cell(null)])])).toEqual([null, null, null]);
  expect(marksOf([row([cell(Number.NaN)]), row([cell(0.5)]), row([cell(0.4)])])).toEqual([null, "best", "second"]);
});

test("numbers are percents with one decimal, and differences carry a sign unless they are none", () => {
  expect(cellNumbers(cell(0.8549, { error: 0.0021 }), "own")).toEqual({ mean: "85.5", error: "0.2", interval: "" });
  expect(cellNumbers(cell(0.017), "difference")).toEqual({ mean: "+1.7", error: "", interval: "" });
  expect(cellNumbers(cell(-0.0001), "difference")).toEqual({ mean: "0.0", error: "", interval: "" });
  expect(cellNumbers(cell(0.0001), "difference")).toEqual({ mean: "0.0", error: "", interval: "" });
  expect(cellNumbers(cell(Number.NaN), "own")?.mean).toBe("nan");
  expect(cellNumbers(cell(null), "own")).toBeNull();
});

test("the same note is one note", () => {
  const notes = new Notes();
  expect([notes.add("a"), notes.add("b"), notes.add("a")]).toEqual([1, 2, 1]);
  expect(notes.texts).toEqual(["a", "b"]);
});
