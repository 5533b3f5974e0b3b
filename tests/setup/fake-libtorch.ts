/** Makes folders that look like a libtorch to set-up: headers with a version, libraries that are only an ELF head. */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is removed when the test that asked for it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nudge-setup-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function write(path: string, content: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** The first bytes of a 64-bit little-endian library for a machine (62 is x64, 183 arm64). */
export function elf(machine = 62, tail = ""): Uint8Array {
  const head = Buffer.alloc(64);
  head.write("\x7fELF", "latin1");
  head[4] = 2;
  head[5] = 1;
  head.writeUInt16LE(machine, 18);
  return Buffer.concat([head, Buffer.from(tail, "latin1")]);
}

export function versionHeader(version: string): string {
  const [major, minor, patch] = version.split(".");
  return `#define TORCH_VERSION_MAJOR ${major}\n#define TORCH_VERSION_MINOR ${minor}\n#define TORCH_VERSION_PATCH ${patch}\n`;
}

export interface FakeLibtorch {
  /** The folder of libraries within the prefix. */
  lib?: string;
  version?: string;
  /** The version in the library's file name, as Debian has it. */
  soVersion?: string;
  machine?: number;
  /** Whether strings have the C++11 ABI. */
  abi?: 0 | 1;
  /** The __cplusplus the headers ask for. */
  standard?: number;
  cuda?: boolean;
  without?: readonly ("headers" | "libtorch_cpu.so" | "libtorch.so" | "libc10.so")[];
}

/** Fills a prefix. */
export function fakeLibtorch(prefix: string, options: FakeLibtorch = {}): string {
  const { lib = "lib", version = "2.11.0", machine = 62, abi = 1, standard = 201703, without = [] } = options;
  const error = "_ZN3c105ErrorC2ENS_14SourceLocationE";
  const symbol = `${error}${abi ? "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" : "Ss"}`;
  if (!without.includes("headers")) {
    write(join(prefix, "include/torch/csrc/api/include/torch/version.h"), versionHeader(version));
    write(
      join(prefix, "include/ATen/ATen.h"),
      `#if !defined(_MSC_VER) && __cplusplus < ${standard}L\n#error\n#endif\n`,
    );
  }
  mkdirSync(join(prefix, lib), { recursive: true });
  const cuda = options.cuda ? ["libtorch_cuda.so", "libc10_cuda.so"] : [];
  for (const name of ["libtorch_cpu.so", "libtorch.so", "libc10.so", ...cuda] as const) {
    if ((without as readonly string[]).includes(name)) continue;
    const file = options.soVersion ? `${name}.${options.soVersion}` : name;
    write(join(prefix, lib, file), elf(machine, name === "libc10.so" ? `\0${symbol}\0` : ""));
    if (file !== name) symlinkSync(file, join(prefix, lib, name));
  }
  return prefix;
}

/** A `python3` in a folder for `$PATH` whose torch package is at `prefix`; with none it has no torch. */
export function fakePython(folder: string, prefix: string): string {
  const script = `#!/bin/sh\necho '${prefix}'\n`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "python3"), script, { mode: 0o755 });
  return folder;
}
