/** How set-up says how far it is: on a terminal one line that changes, in a log a few. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { timed } from "../../scripts/setup/report.mjs";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A terminal, or a log, that keeps what it is given. */
class Kept {
  text = "";
  constructor(
    readonly isTTY: boolean,
    readonly columns = 80,
  ) {}
  write(piece: string): void {
    this.text += piece;
  }
}

/** A build of four files, 20 s each; what was written of it. */
async function build(stream: Kept): Promise<string> {
  const compile = async (tell: (part: string) => void): Promise<void> => {
    for (let done = 1; done <= 4; done++) {
      await vi.advanceTimersByTimeAsync(20_000);
      tell(`${done} of 4 files compiled`);
    }
  };
  await timed("building", compile, stream);
  return stream.text;
}

test("a log has one line every half minute", async () => {
  expect(await build(new Kept(false))).toBe(
    [
      "[setup] building …",
      "[setup] … 1 of 4 files compiled, 30 s",
      "[setup] … 2 of 4 files compiled, 60 s", // the third is done at that moment
      "[setup] … done in 80 s",
      "",
    ].join("\n"),
  );
});

test("a terminal has one line that changes every second and never wraps", async () => {
  const wide = await build(new Kept(true));
  expect(wide.split("\n")).toHaveLength(3);
  expect(wide).toContain("\r[setup] … 1 of 4 files compiled, 21 s\x1b[K");
  expect(wide.endsWith("\r\x1b[K[setup] … done in 80 s\n")).toBe(true);
  const narrow = await build(new Kept(true, 20));
  for (const shown of narrow.split(/[\r\n]/).filter((line) => line.endsWith("s\x1b[K") || line.endsWith("…\x1b[K")))
    expect(shown.replace("\x1b[K", "").length).toBeLessThan(20);
});

test("failed work leaves no line behind, and nothing keeps counting", async () => {
  const stream = new Kept(true);
  await expect(timed("building", () => Promise.reject(new Error("no")), stream)).rejects.toThrow("no");
  const { text } = stream;
  expect(text.endsWith("\r\x1b[K")).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stream.text).toBe(text);
});
