import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const command = join(root, "bin/nudge.cjs");

test("the package's command starts the program", () => {
  const { bin, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(bin).toEqual({ nudge: "bin/nudge.cjs" });
  expect(execFileSync(process.execPath, [command, "--version"], { encoding: "utf8" }).trim()).toBe(version);
});

test("with more than four cores there is one thread per core, and a given number is kept", () => {
  const threads = (cores: number, given?: string): string => {
    const code = `
      require("node:os").availableParallelism = () => ${cores};
      process.argv = [process.execPath, ${JSON.stringify(command)}, "--version"];
      require(${JSON.stringify(command)});
      process.stdout.write(String(process.env.UV_THREADPOOL_SIZE) + "\\n");`;
    const env = { ...process.env, UV_THREADPOOL_SIZE: given };
    return execFileSync(process.execPath, ["-e", code], { encoding: "utf8", env }).split("\n")[0];
  };
  expect(threads(2)).toBe("undefined");
  expect(threads(16)).toBe("16");
  expect(threads(256)).toBe("128");
  expect(threads(16, "6")).toBe("6");
});
