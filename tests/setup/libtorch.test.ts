import { join } from "node:path";
import { expect, test } from "vitest";
import { judgePrefix, pythonVersion } from "../../scripts/setup/libtorch.mjs";
import { fakeLibtorch, temporaryFolder, versionHeader, write } from "./fake-libtorch.js";

const judge = (prefix: string) => judgePrefix(prefix, "a test", "x64");
const problemOf = (prefix: string) => {
  const verdict = judge(prefix);
  return "problem" in verdict ? verdict.problem : "fits";
};

test("an unpacked zip is accepted, with its version, ABI and standard", () => {
  const prefix = fakeLibtorch(temporaryFolder());
  write(join(prefix, "build-version"), "2.11.0+cpu\n");
  expect(judge(prefix)).toEqual({
    libtorch: {
      origin: "a test",
      prefix,
      include: join(prefix, "include"),
      lib: join(prefix, "lib"),
      version: "2.11.0+cpu",
      abi: 1,
      std: 17,
      cuda: false,
      cudaVersion: undefined,
    },
  });
});

test("Debian's layout is accepted: libraries in the multiarch folder, version in the file name", () => {
  const prefix = fakeLibtorch(temporaryFolder(), {
    lib: "lib/x86_64-linux-gnu",
    version: "1.13.0",
    soVersion: "1.13.0",
  });
  expect(judge(prefix)).toMatchObject({ libtorch: { version: "1.13.0", lib: join(prefix, "lib/x86_64-linux-gnu") } });
});

test("a library with old strings is used with the old ABI", () => {
  expect(judge(fakeLibtorch(temporaryFolder(), { abi: 0 }))).toMatchObject({ libtorch: { abi: 0 } });
});

test("headers that require C++20 get it", () => {
  expect(judge(fakeLibtorch(temporaryFolder(), { standard: 202002 }))).toMatchObject({ libtorch: { std: 20 } });
});

test("headers that accept C++14 still get C++17", () => {
  expect(judge(fakeLibtorch(temporaryFolder(), { standard: 201402 }))).toMatchObject({ libtorch: { std: 17 } });
});

test("the version is found in the file where 2.13 has it", () => {
  const prefix = fakeLibtorch(temporaryFolder());
  write(join(prefix, "include/torch/csrc/api/include/torch/version.h"), "#include <torch/headeronly/version.h>\n");
  write(join(prefix, "include/torch/headeronly/version.h"), versionHeader("2.13.0"));
  expect(judge(prefix)).toMatchObject({ libtorch: { version: "2.13.0" } });
});

test("a Python package with CUDA reports its CUDA version", () => {
  const prefix = fakeLibtorch(temporaryFolder(), { cuda: true });
  write(join(prefix, "version.py"), "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\n");
  expect(judge(prefix)).toMatchObject({ libtorch: { version: "2.11.0+cu130", cuda: true, cudaVersion: "13.0" } });
});

test("an older version.py, without types, is read too", () => {
  const folder = temporaryFolder();
  write(join(folder, "version.py"), "__version__ = '1.13.1+cu117'\ncuda = '11.7'\n");
  expect(pythonVersion(folder)).toEqual({ version: "1.13.1+cu117", cuda: "11.7" });
  write(join(folder, "version.py"), "__version__ = '1.13.0a0'\ncuda = None\n");
  expect(pythonVersion(folder)).toEqual({ version: "1.13.0a0", cuda: undefined });
});

test("an unsuitable libtorch is reported with the reason", () => {
  const of = (options: Parameters<typeof fakeLibtorch>[1]) => problemOf(fakeLibtorch(temporaryFolder(), options));
  expect(of({ version: "1.12.1" })).toBe("libtorch 1.12.1 is too old: 1.13 or newer is needed");
  expect(of({ without: ["headers"] })).toMatch(/libtorch_cpu\.so has no headers with it/);
  expect(of({ without: ["libtorch_cpu.so"] })).toMatch(/^headers of 2\.11\.0 in .*, but no libtorch_cpu\.so in /);
  expect(of({ without: ["libc10.so"] })).toMatch(/has libtorch_cpu\.so but not libc10\.so$/);
  expect(of({ machine: 183 })).toMatch(/is for arm64, this Node is x64$/);
  expect(of({ version: "2.1.0", soVersion: "1.13.0" })).toMatch(/the headers in .* are 2\.1\.0, but .* is 1\.13\.0/);
});

test("a file that is not a library is reported as such", () => {
  const prefix = fakeLibtorch(temporaryFolder());
  write(join(prefix, "lib/libtorch_cpu.so"), "version https://git-lfs.github.com/spec/v1\n");
  expect(problemOf(prefix)).toMatch(/is not a 64-bit Linux library$/);
});

test("an empty folder and a missing one have different messages", () => {
  const folder = temporaryFolder();
  expect(judge(folder)).toEqual({ problem: "no libtorch there", empty: true });
  expect(judge(join(folder, "nowhere"))).toEqual({ problem: "no such folder", empty: true });
});
