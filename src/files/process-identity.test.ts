import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { lifeOf, thisProcess } from "./process-identity.js";

test("this process is alive, and another start of its number is gone", () => {
  expect(lifeOf(thisProcess())).toBe("alive");
  expect(lifeOf({ ...thisProcess(), started: "1" })).toBe("gone");
});

test("a process of another place cannot be asked for, though it has the number of one here and the same host", () => {
  expect(lifeOf({ ...thisProcess(), place: "another boot" })).toBe("unknown");
});

test("a process that ended is gone, also while nobody has asked for its end", async () => {
  const child = spawn("sleep", ["60"]);
  const identity = { ...thisProcess(), pid: child.pid!, started: null };
  expect(lifeOf(identity)).toBe("alive");
  child.kill("SIGKILL");
  await new Promise((done) => child.once("exit", done));
  expect(lifeOf(identity)).toBe("gone");
});
