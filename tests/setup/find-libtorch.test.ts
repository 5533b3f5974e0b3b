import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLibtorch, noLibtorch, prefixesFromLdconfig } from "../../scripts/setup/find-libtorch.mjs";
import { fakeLibtorch, fakePython, temporaryFolder, write } from "./fake-libtorch.js";

/** A machine of its own: a root with no libtorch, a PATH with no Python. */
function machine() {
  const searchRoot = temporaryFolder();
  const env: Record<string, string | undefined> = { PATH: join(searchRoot, "bin") };
  return { searchRoot, env, arch: "x64" };
}

test("$LIBTORCH comes first, then Python's package, then the system", async () => {
  const where = machine();
  fakeLibtorch(join(where.searchRoot, "usr"), { version: "1.13.0" });
  expect((await findLibtorch(where)).libtorch).toMatchObject({ origin: "the system", version: "1.13.0" });

  const packaged = fakeLibtorch(join(where.searchRoot, "site-packages/torch"), { version: "2.11.0" });
  fakePython(where.env.PATH!, packaged);
  expect((await findLibtorch(where)).libtorch).toMatchObject({ origin: "Python's torch package", version: "2.11.0" });

  where.env.LIBTORCH = fakeLibtorch(join(where.searchRoot, "mine"), { version: "2.5.0" });
  expect((await findLibtorch(where)).libtorch).toMatchObject({ origin: "$LIBTORCH", version: "2.5.0" });
});

test("an unsuitable $LIBTORCH is an error, and no other libtorch is used", async () => {
  const where = machine();
  fakeLibtorch(join(where.searchRoot, "usr"));
  where.env.LIBTORCH = fakeLibtorch(join(where.searchRoot, "old"), { version: "1.8.1" });
  await expect(findLibtorch(where)).rejects.toThrow(/^LIBTORCH=.*old: libtorch 1\.8\.1 is too old/);
});

test("a Python package that only links to the system is skipped in favor of the system", async () => {
  const where = machine();
  const system = fakeLibtorch(join(where.searchRoot, "usr"), { version: "1.13.0" });
  const packaged = join(where.searchRoot, "dist-packages/torch");
  fakeLibtorch(packaged, { version: "1.13.0", without: ["libtorch_cpu.so"] });
  symlinkSync(join(system, "lib/libtorch_cpu.so"), join(packaged, "lib/libtorch_cpu.so"));
  fakePython(where.env.PATH!, packaged);
  expect((await findLibtorch(where)).libtorch?.origin).toBe("the system");
});

test("an unsuitable package is skipped and remembered", async () => {
  const where = machine();
  fakeLibtorch(join(where.searchRoot, "usr/local"));
  fakePython(where.env.PATH!, fakeLibtorch(join(where.searchRoot, "torch"), { version: "1.9.0" }));
  const { libtorch, looks } = await findLibtorch(where);
  expect(libtorch?.prefix).toBe(join(where.searchRoot, "usr/local"));
  expect(looks.filter(({ empty }) => !empty).map(({ found }) => found)).toEqual([
    "libtorch 1.9.0 is too old: 1.13 or newer is needed",
  ]);
});

test("the system's Python may have no torch", async () => {
  const where = machine();
  fakePython(where.env.PATH!, "");
  const { looks } = await findLibtorch(where);
  expect(looks[1]).toEqual({
    place: "Python's torch package",
    found: `${where.env.PATH}/python3 has none`,
    empty: true,
  });
});

test("if there is none, one error lists each place, what was found, and how to get one", async () => {
  const where = machine();
  write(join(where.searchRoot, "usr/lib/x86_64-linux-gnu/libtorch_cpu.so"), "");
  const { libtorch, looks } = await findLibtorch(where);
  expect(libtorch).toBeUndefined();
  const lines = noLibtorch(looks, "not root, and sudo asks for a password or is not there").message.split("\n");
  expect(lines[0]).toBe("libtorch, the engine that computes, was not found. Looked at:");
  expect(lines.slice(1, 6)).toEqual([
    "  - $LIBTORCH: not set",
    "  - Python's torch package: no python3 on PATH",
    expect.stringMatching(/the system \(.*\/usr\): .*libtorch_cpu\.so has no headers with it/),
    expect.stringMatching(/the system \(.*\/usr\/local\): no such folder/),
    "  - installing it with apt-get: not root, and sudo asks for a password or is not there",
  ]);
  expect(lines.slice(6).join("\n")).toMatch(/apt-get install libtorch-dev[\s\S]*pip install torch[\s\S]*LIBTORCH/);
});

test("prefixes are read from the output of ldconfig", () => {
  const listing = [
    "\tlibtorch_cpu.so.1.13 (libc6,x86-64) => /lib/x86_64-linux-gnu/libtorch_cpu.so.1.13",
    "\tlibtorch_cpu.so (libc6,x86-64) => /lib/x86_64-linux-gnu/libtorch_cpu.so",
    "\tlibtorch_cpu.so (libc6,x86-64) => /opt/libtorch/lib/libtorch_cpu.so",
  ].join("\n");
  expect(prefixesFromLdconfig(listing, "x64")).toEqual(["/usr", "/opt/libtorch"]);
});
