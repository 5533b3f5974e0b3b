import { expect, test } from "vitest";
import { catchPrinted } from "../../tests/support/printed.js";
import { main } from "./main.js";

const printed = catchPrinted();

test.each([
  [["none/at/all"], "dashboard: none/at/all: no such folder"],
  [["package.json"], "dashboard: package.json is neither a folder nor a packed study"],
  [[".", "--port", "70000"], 'expected a port from 0 to 65535, got "70000"'],
  [[".", "--port", "web"], 'got "web"'],
])("dashboard %j is a usage error", async (args, words) => {
  expect(await main(["dashboard", ...args])).toBe(2);
  expect(printed.stderr).toContain(words);
});

test("help has examples, and says how to open the page from another machine", async () => {
  expect(await main(["dashboard", "--help"])).toBe(0);
  expect(printed.stdout).toMatch(/Examples:\n {2}nudge dashboard runs[\s\S]*ssh -L 4747:127\.0\.0\.1:4747/);
});
