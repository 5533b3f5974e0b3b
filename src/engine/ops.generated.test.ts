import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generate, parseLine } from "../../native/generate.js";
import { loadNative } from "./load.js";

const opsText = readFileSync(new URL("../../native/ops.txt", import.meta.url), "utf8");
const generated = readFileSync(new URL("ops.generated.ts", import.meta.url), "utf8");
const lines = opsText.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));

test("ops.generated.ts is what native/generate.ts makes of native/ops.txt", ({ skip }) => {
  // Newer versions add arguments to schemas. The file is generated with the oldest supported version.
  const { version } = loadNative().info();
  skip(!version.startsWith("1.13"), `skipped: the file is made with libtorch 1.13, this is ${version}`);
  // If they differ, run: npm run generate.
  expect(generate(loadNative(), opsText)).toBe(generated);
});

test("this libtorch has every operator of native/ops.txt, with the arguments we pass first and in order", () => {
  const native = loadNative();
  for (const line of lines) {
    const { name, overload } = parseLine(line);
    const passed = new RegExp(`\\["${name}", "${overload}", "([^"]*)"\\]`).exec(generated)?.[1];
    const { arguments: known } = native.schema(native.resolve(name, overload));
    expect(known.map((argument) => argument.name).join(" "), line).toMatch(new RegExp(`^${passed}( |$)`));
    const more = known.slice(passed?.split(" ").length ?? 0);
    expect(
      more.every((argument) => argument.hasDefault),
      line,
    ).toBe(true);
  }
});

test("no operator is listed twice, and no two have the same name in TypeScript", () => {
  const methods = lines.map((line) => parseLine(line).method);
  expect(new Set(lines.map((line) => line.split(" ")[0])).size).toBe(lines.length);
  expect(methods.filter((method, i) => methods.indexOf(method) !== i)).toEqual([]);
});

test("a line of native/ops.txt is an operator, its overload and a name", () => {
  expect(parseLine("aten::sum.dim_IntList as sumOver")).toEqual({
    name: "aten::sum",
    overload: "dim_IntList",
    method: "sumOver",
  });
  expect(parseLine("aten::index_add_").method).toBe("indexAdd_");
  expect(() => parseLine("sum")).toThrow('cannot read the line "sum"');
});
