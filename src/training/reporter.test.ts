import { expect, test } from "vitest";
import { duration, statusText, streamReporter } from "./reporter.js";

const status = { step: 120, steps: 300, loss: 0.42129, rate: 1830.4, waiting: 0.031, memory: 312e6, left: 13.7 };

test("a status says step, loss, rate, waiting share, memory and time left", () => {
  expect(statusText(status)).toBe("step 120/300, loss 0.4213, 1830 pictures/s, waiting 3 %, 312 MB, 0:14 left");
  expect(statusText({ ...status, rate: 3.14, memory: 2.25e9, left: Number.NaN })).toContain("3.1 pictures/s");
});

test("a duration is in minutes and hours", () => {
  expect([0, 59.6, 61, 7420].map(duration)).toEqual(["0:00", "1:00", "1:01", "2:03:40"]);
});

test("lines go to a terminal in place of the status, and elsewhere as they are", () => {
  const written = (isTTY: boolean): string => {
    let text = "";
    const reporter = streamReporter({ isTTY, write: (more) => (text += more) });
    reporter.status(status); // too early to be shown
    reporter.line("step 0: done");
    return text;
  };
  expect(written(true)).toBe("\r\x1b[Kstep 0: done\n");
  expect(written(false)).toBe("step 0: done\n");
});
