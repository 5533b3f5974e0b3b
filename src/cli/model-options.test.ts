import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { catchPrinted } from "../../tests/support/printed.js";
import { StoppedError } from "../errors.js";
import { progressLine, WholeFile } from "./model-options.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-model-options-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const printed = catchPrinted();

test("Ctrl-C ends the work at the next progress report, and leaves no partial files", () => {
  const before = process.listenerCount("SIGINT");
  const predict = (): void => {
    using file = new WholeFile(join(folder, "rows.csv"));
    using line = progressLine("predicting", 9, "rows.csv was not written");
    for (let done = 1; done <= 9; done++) {
      file.write(`row ${done}\n`);
      if (done === 3) process.emit("SIGINT", "SIGINT");
      line.show(done);
    }
    file.done();
  };
  expect(predict).toThrow(new StoppedError("predicting: stopped after 3 of 9; rows.csv was not written"));
  expect(printed.stderr).toBe("SIGINT: finishing the batch; press again to stop immediately\n");
  expect(readdirSync(folder)).toEqual([]);
  expect(process.listenerCount("SIGINT")).toBe(before);
});

test("a stop request after the last item has no effect", () => {
  using line = progressLine("predicting", 9);
  process.emit("SIGTERM", "SIGTERM");
  expect(() => line.show(9)).not.toThrow();
});

test("a file appears only when it is complete", () => {
  const path = join(folder, "whole.csv");
  using file = new WholeFile(path);
  file.write("a\n");
  expect(readdirSync(folder)).not.toContain("whole.csv");
  file.write("b\n");
  file.done();
  expect(readFileSync(path, "utf8")).toBe("a\nb\n");
  expect(readdirSync(folder)).toEqual(["whole.csv"]);
});
