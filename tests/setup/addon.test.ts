import { join } from "node:path";
import { expect, test } from "vitest";
import {
  compileFlags,
  firstErrors,
  inParallel,
  linkFlags,
  remedy,
  sourceAndHeaders,
} from "../../scripts/setup/addon.mjs";
import { temporaryFolder, write } from "./fake-libtorch.js";

const root = join(import.meta.dirname, "../..");
const libtorch = {
  origin: "a test",
  prefix: "/opt/torch",
  include: "/opt/torch/include",
  lib: "/opt/torch/lib",
  version: "2.11.0",
  abi: 1 as const,
  std: 17 as const,
  cuda: false,
  cudaVersion: undefined,
};
const engine = {
  libtorch,
  cuda: null,
  cudaProblem: null,
  compiler: { command: ["g++"], version: "12" },
  identity: "",
  foundBy: "",
};
const system = { ...engine, libtorch: { ...libtorch, include: "/usr/include", lib: "/usr/lib/x86_64-linux-gnu" } };
const cuda = { ...engine, cuda: { include: ["/opt/cuda/include"], version: "13.0" } };

test("a libtorch outside the standard folders is found again when the addon loads", () => {
  expect(linkFlags(engine)).toContain("-Wl,-rpath,/opt/torch/lib");
  expect(linkFlags(system).filter((flag) => /rpath|-L/.test(flag))).toEqual([]);
});

test("the compiler receives the ABI and standard of the library, and keeps the order of the standard folders", () => {
  const flags = compileFlags({ ...engine, libtorch: { ...libtorch, abi: 0, std: 20 } }, root);
  expect(flags).toEqual(expect.arrayContaining(["-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=0", "/opt/torch/include"]));
  expect(compileFlags(system, root)).not.toContain("/usr/include");
});

test("CUDA is linked completely, after a flag that keeps unreferenced libraries", () => {
  expect(compileFlags(cuda, root)).toEqual(expect.arrayContaining(["-DNUDGE_CUDA", "/opt/cuda/include"]));
  const flags = linkFlags(cuda);
  expect(flags.indexOf("-Wl,--no-as-needed")).toBeLessThan(flags.indexOf("-ltorch_cuda"));
  expect(compileFlags(engine, root)).not.toContain("-DNUDGE_CUDA");
});

test("a source depends on the headers it includes, also indirectly and in cycles", () => {
  const folder = temporaryFolder();
  write(join(folder, "a.cc"), '#include <vector>\n#include "a.h"\n');
  write(join(folder, "a.h"), '  # include "inner/b.h"\n#include "missing.h"\n');
  write(join(folder, "inner/b.h"), '#include "../a.h"\n');
  write(join(folder, "c.h"), "");
  expect(sourceAndHeaders(folder, "a.cc")).toEqual(["a.cc", "a.h", "inner/b.h"]);
});

test("the first errors of a long output are shown", () => {
  const output = [
    "In file included from x",
    "a.cc:3:1: error: first",
    ...Array.from({ length: 40 }, (_, i) => `note ${i}`),
  ].join("\n");
  const lines = firstErrors(output).split("\n");
  expect(lines[0]).toBe("a.cc:3:1: error: first");
  expect(lines).toHaveLength(16);
  expect(lines[15]).toBe("… and 26 lines more");
});

test("the advice after a failure depends on the output of the compiler", () => {
  expect(remedy("g++: fatal error: Killed signal terminated program cc1plus", engine)).toContain("want of memory");
  expect(remedy("as: /tmp/x.o: No space left on device", engine)).toMatch(/The disk is full.*: make room, then run/);
  expect(remedy("a.cc:3:1: error: x", engine)).toMatch(
    /^The compiler was g\+\+ 12, libtorch 2\.11\.0 from a test \(\/opt\/torch\)\.\nSet CXX .* or LIBTORCH .*kept$/,
  );
});

test("after a failure no further job starts", async () => {
  const started: number[] = [];
  const jobs = Array.from({ length: 6 }, (_, i) => async () => {
    started.push(i);
    await new Promise((resolve) => setTimeout(resolve, i === 0 ? 1 : 10));
    if (i === 0) throw new Error("first");
  });
  await expect(inParallel(jobs, 2)).rejects.toThrow("first");
  expect(started).toEqual([0, 1]);
});
