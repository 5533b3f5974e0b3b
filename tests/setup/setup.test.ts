/** Set-up as a whole, against a libtorch of empty libraries and a stand-in addon: what is built, and what is not built again. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { makeEnginePackage } from "../../scripts/make-engine-packages.mjs";
import { setup } from "../../scripts/setup/setup.mjs";
import { fakeLibtorch, temporaryFolder, write } from "./fake-libtorch.js";

beforeEach(() => {
  vi.spyOn(process.stderr, "write").mockReturnValue(true); // progress lines
  return () => vi.restoreAllMocks();
});

const repository = join(import.meta.dirname, "../..");
const headers = dirname(createRequire(import.meta.url).resolve("node-api-headers/package.json"));
const addon = `#include <node_api.h>
#include "answer.h"
NAPI_MODULE_INIT() {
  napi_value value;
  napi_create_int32(env, answer(), &value);
  napi_set_named_property(env, exports, "answer", value);
  return exports;
}
`;

/** A package as npm would install it (no lock file, no TypeScript), with its own libtorch. */
function clone() {
  const root = temporaryFolder();
  write(join(root, "package.json"), "{}");
  mkdirSync(join(root, "node_modules"));
  symlinkSync(headers, join(root, "node_modules/node-api-headers"));
  const sources = join(root, "native/src");
  write(join(sources, "addon.cc"), addon);
  write(join(sources, "answer.cc"), '#include "answer.h"\nint answer() { return 42; }\n');
  write(join(sources, "answer.h"), "int answer();\n");
  const prefix = fakeLibtorch(join(root, "libtorch"), { without: ["libtorch_cpu.so", "libtorch.so", "libc10.so"] });
  for (const name of ["torch", "torch_cpu", "c10"])
    execFileSync("g++", ["-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", join(prefix, `lib/lib${name}.so`)]);
  const cache = { XDG_CACHE_HOME: join(root, "cache"), NUDGE_ENGINE_CACHE: undefined };
  const env = { ...process.env, ...cache, LIBTORCH: prefix, NUDGE_NO_INSTALL: "1", NUDGE_ROOT: root };
  return { root, sources, env, build: join(root, "build") };
}

/** What set-up printed since the last call of this. */
function printed(): string {
  const { calls } = vi.mocked(process.stderr.write).mock;
  return calls
    .splice(0)
    .map(([text]) => String(text))
    .join("");
}

/** The value the addon exports, read in a process of its own: a process maps a path once. */
function answerOf(root: string): string {
  const code = `const m = { exports: {} }; process.dlopen(m, ${JSON.stringify(join(root, "build/nudge.node"))}); console.log(m.exports.answer)`;
  return execFileSync(process.execPath, ["-e", code], { encoding: "utf8" }).trim();
}

/** When each object was made. */
function objects(build: string): Record<string, number> {
  const folder = join(build, "obj", readdirSync(join(build, "obj"))[0]);
  const names = readdirSync(folder).filter((name) => name.endsWith(".o"));
  return Object.fromEntries(names.map((name) => [name, statSync(join(folder, name)).mtimeMs]));
}

test("a fresh clone is built, a second call does nothing, and a change compiles only what it affects", async () => {
  const { root, sources, env, build } = clone();
  expect(await setup({ root, env })).toBe(true);
  expect(answerOf(root)).toBe("42");
  expect(JSON.parse(readFileSync(join(build, "engine.json"), "utf8"))).toMatchObject({
    libtorch: { origin: "$LIBTORCH", version: "2.11.0", prefix: env.LIBTORCH },
    cuda: null,
  });
  const before = objects(build);

  expect(await setup({ root, env })).toBe(false);
  expect(objects(build)).toEqual(before);

  writeFileSync(join(sources, "answer.cc"), '#include "answer.h"\nint answer() { return 7; }\n');
  expect(await setup({ root, env })).toBe(true);
  expect(answerOf(root)).toBe("7");
  const after = objects(build);
  expect(after["addon.cc.o"]).toBe(before["addon.cc.o"]);
  expect(after["answer.cc.o"]).toBeGreaterThan(before["answer.cc.o"]);

  writeFileSync(join(sources, "answer.h"), "int answer(); // the header of both\n");
  expect(await setup({ root, env })).toBe(true);
  for (const [name, time] of Object.entries(objects(build))) expect(time).toBeGreaterThan(after[name]);
});

test("a missing or truncated addon is linked again from the existing objects", async () => {
  const { root, env, build } = clone();
  await setup({ root, env });
  const before = objects(build);
  writeFileSync(join(build, "nudge.node"), "junk");
  expect(await setup({ root, env })).toBe(true);
  rmSync(join(build, "nudge.node"));
  expect(await setup({ root, env })).toBe(true);
  expect(answerOf(root)).toBe("42");
  expect(objects(build)).toEqual(before);
});

test("a compile error ends setup with the error and the command, and keeps the old addon", async () => {
  const { root, sources, env, build } = clone();
  await setup({ root, env });
  writeFileSync(join(sources, "answer.cc"), "int answer() { return nothing; }\n");
  const failure = await setup({ root, env }).catch((error: Error) => error);
  expect(failure).toMatchObject({ name: "SetupError" });
  expect(String(failure)).toMatch(
    /compiling answer\.cc failed:\n.*error: .nothing. was not declared[\s\S]*The command was:\n {2}\S*g\+\+ -std=c\+\+17 .*\nThe compiler was g\+\+ .*\nSet CXX to another compiler or LIBTORCH/u,
  );
  expect(answerOf(root)).toBe("42");
  expect(existsSync(join(build, "setup.lock"))).toBe(false);
});

test("Ctrl-C ends setup and its compilers, prints how to continue, and leaves no lock behind", async () => {
  const { root, env, build } = clone();
  cpSync(join(repository, "scripts"), join(root, "scripts"), { recursive: true });
  const slow = write(join(root, "slow-g++"), '#!/bin/sh\n[ "$1" = --version ] && exec g++ --version\nexec sleep 30\n');
  chmodSync(slow, 0o755);
  const child = spawn(process.execPath, [join(root, "scripts/setup.mjs")], { env: { ...env, CXX: slow } });
  const text: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => text.push(chunk));
  while (!text.join("").includes("building the addon")) await once(child.stderr, "data");
  const asked = performance.now();
  child.kill("SIGINT");
  expect(await once(child, "close")).toEqual([130, null]);
  expect(performance.now() - asked).toBeLessThan(10_000); // a third of what the compilers would take
  expect(text.join("")).toMatch(
    /building the addon \(2 C\+\+ files, .*\) …\n\[setup\] SIGINT: stopped\. .*the same command goes on from there\n$/,
  );
  expect(existsSync(join(build, "setup.lock"))).toBe(false);
  expect(await setup({ root, env })).toBe(true);
});

test("an addon that does not load is reported, with the reason of the loader", async () => {
  const { root, sources, env, build } = clone();
  write(
    join(sources, "answer.cc"),
    '#include "answer.h"\nint elsewhere();\nint answer() { return elsewhere(); }\nint now = answer();\n',
  );
  await expect(setup({ root, env })).rejects.toThrow(
    /built against libtorch 2\.11\.0 .* but does not load: .*undefined symbol/,
  );
  expect(existsSync(join(build, "nudge.node"))).toBe(false);
});

test("a libtorch that changed under the same name causes a rebuild", async () => {
  const { root, env } = clone();
  await setup({ root, env });
  execFileSync("g++", [
    "-shared",
    "-fPIC",
    "-g",
    "-x",
    "c++",
    "/dev/null",
    "-o",
    join(env.LIBTORCH, "lib/libtorch_cpu.so"),
  ]);
  expect(await setup({ root, env })).toBe(true);
  expect(await setup({ root, env })).toBe(false);
});

test("without libtorch and without permission to install it, only the error is printed", async () => {
  const { root, env } = clone();
  const bare = { ...env, LIBTORCH: undefined, PATH: "/nowhere" };
  await expect(setup({ root, env: bare, searchRoot: temporaryFolder() })).rejects.toThrow(
    /was not found\. Looked at:[\s\S]*apt-get: forbidden by NUDGE_NO_INSTALL/,
  );
  expect(existsSync(join(root, "build/nudge.node"))).toBe(false);
});

test("a missing compiler is reported", async () => {
  const { root, env } = clone();
  await expect(setup({ root, env: { ...env, CXX: "no-such-compiler -q" } })).rejects.toThrow(
    'no C++ compiler: CXX is "no-such-compiler -q", but it is not on PATH',
  );
});

test("two setups at the same time both succeed, and build once", async () => {
  const { root, env, build } = clone();
  const code = `
    const { setup } = await import(${JSON.stringify(join(repository, "scripts/setup/setup.mjs"))});
    await setup({ root: process.env.NUDGE_ROOT });`;
  const start = () =>
    new Promise<{ code: number | null; text: string }>((resolve) => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
        env,
        stdio: ["ignore", "ignore", "pipe"],
      });
      let text = "";
      child.stderr.on("data", (chunk) => {
        text += chunk;
      });
      child.on("close", (exit) => resolve({ code: exit, text }));
    });
  const ends = await Promise.all([start(), start()]);
  expect(ends.map(({ code: exit }) => exit)).toEqual([0, 0]);
  expect(ends.filter(({ text }) => text.includes("building the addon"))).toHaveLength(1);
  expect(answerOf(root)).toBe("42");
  expect(readdirSync(build).sort()).toEqual(["addon.json", "engine.json", "nudge.node", "obj"]);
});

test("a second clone uses the build of the first, and a damaged build is built again", async () => {
  const first = clone();
  await setup({ root: first.root, env: first.env });
  const [kept] = readdirSync(join(first.env.XDG_CACHE_HOME, "nudge/engine"));
  expect(kept).toMatch(/^[0-9a-f]{32}$/);

  printed();
  const second = clone();
  await setup({ root: second.root, env: first.env });
  expect(printed()).toMatch(/that build is taken/);
  expect(answerOf(second.root)).toBe("42");
  expect(existsSync(join(second.build, "obj"))).toBe(false);
  expect(await setup({ root: second.root, env: first.env })).toBe(false);

  const addonOfKept = join(first.env.XDG_CACHE_HOME, "nudge/engine", kept, "nudge.node");
  writeFileSync(addonOfKept, readFileSync(addonOfKept).fill(0, 1000, 1010));
  const third = clone();
  await setup({ root: third.root, env: first.env });
  expect(printed()).toMatch(/is damaged: it is removed, and built again[\s\S]*building the addon/);
  expect(answerOf(third.root)).toBe("42");
  const fourth = clone();
  await setup({ root: fourth.root, env: first.env });
  expect(printed()).toMatch(/that build is taken/);

  const other = clone();
  writeFileSync(join(other.sources, "answer.cc"), '#include "answer.h"\nint answer() { return 7; }\n');
  await setup({ root: other.root, env: first.env });
  expect(answerOf(other.root)).toBe("7"); // other sources, another build
});

test("two clones that are set up at the same time build once", async () => {
  const [a, b] = [clone(), clone()];
  const code = `
    const { setup } = await import(${JSON.stringify(join(repository, "scripts/setup/setup.mjs"))});
    await setup({ root: process.env.NUDGE_ROOT });`;
  const start = async (root: string) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      env: { ...a.env, NUDGE_ROOT: root },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const [exit] = await once(child, "close");
    return { exit, text };
  };
  const ends = await Promise.all([start(a.root), start(b.root)]);
  expect(ends.map(({ exit }) => exit)).toEqual([0, 0]);
  expect(ends.filter(({ text }) => text.includes("building the addon"))).toHaveLength(1);
  expect([answerOf(a.root), answerOf(b.root)]).toEqual(["42", "42"]);
});

test("without a writable or enabled cache, nothing is kept", async () => {
  const { root, env } = clone();
  const file = write(join(root, "a-file"), "");
  await setup({ root, env: { ...env, XDG_CACHE_HOME: file } });
  expect(printed()).toMatch(/the build is not kept for other projects: .*ENOTDIR/);
  expect(answerOf(root)).toBe("42");
  const other = clone();
  await setup({ root: other.root, env: { ...other.env, NUDGE_ENGINE_CACHE: "0" } });
  expect(existsSync(other.env.XDG_CACHE_HOME)).toBe(false);
});

test("a fitting prebuilt addon is used without a compiler and finds libtorch elsewhere; a damaged one is not used", async () => {
  const release = clone();
  const made = await makeEnginePackage({ root: release.root, libtorchs: [release.env.LIBTORCH], env: release.env });
  expect(readdirSync(made).sort()).toEqual(["2.11.0-cpu-abi1.node", "engines.json", "package.json"]);

  const user = clone(); // with a libtorch of its own, in another folder
  cpSync(made, join(user.root, "node_modules", basename(made)), { recursive: true });
  rmSync(release.root, { recursive: true });
  printed();
  await setup({ root: user.root, env: { ...user.env, CXX: "no-such-compiler" } });
  expect(printed()).toMatch(/took the prebuilt engine of nudge-dg-engine-.* \(2\.11\.0-cpu-abi1\.node\)/);
  expect(answerOf(user.root)).toBe("42");
  expect(existsSync(join(user.build, "obj"))).toBe(false);

  const addonOfPackage = join(user.root, "node_modules", basename(made), "2.11.0-cpu-abi1.node");
  writeFileSync(addonOfPackage, readFileSync(addonOfPackage).fill(0, 1000, 1010));
  rmSync(user.build, { recursive: true });
  await setup({ root: user.root, env: user.env });
  expect(printed()).toMatch(/is damaged \(another hash than its list names\); the engine is built here/);

  writeFileSync(join(user.sources, "answer.cc"), '#include "answer.h"\nint answer() { return 7; }\n');
  await setup({ root: user.root, env: user.env });
  expect(answerOf(user.root)).toBe("7"); // of other sources than the prebuilt one
});
