import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { RunFolder } from "./run-folder.js";

test("control characters in names do not reach a terminal that shows the log", async () => {
  using run = await RunFolder.own(join(temporaryFolder(), "run"));
  run.log("held out a\x1b]0;title\x07b\x1b[2J 50.0 %");
  expect(readFileSync(run.file("log.txt"), "utf8")).toMatch(
    /Z held out a\\u\{1b\}\]0;title\\u\{7\}b\\u\{1b\}\[2J 50.0 %\n$/,
  );
});
