import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blasFromLdd, blasName } from "../../scripts/setup/blas.mjs";
import { findCudaHeaders } from "../../scripts/setup/cuda.mjs";
import { judgePrefix } from "../../scripts/setup/libtorch.mjs";
import { fakeLibtorch, temporaryFolder, write } from "./fake-libtorch.js";

/** Debian's alternatives: libblas.so.3 → /etc/alternatives/… → the implementation chosen. */
function alternatives(implementation: string): string {
  const root = temporaryFolder();
  const real = write(join(root, "usr/lib/x86_64-linux-gnu", implementation), "");
  mkdirSync(join(root, "etc/alternatives"), { recursive: true });
  symlinkSync(real, join(root, "etc/alternatives/libblas.so.3"));
  const link = join(root, "usr/lib/x86_64-linux-gnu/libblas.so.3");
  symlinkSync(join(root, "etc/alternatives/libblas.so.3"), link);
  return `\tlibgomp.so.1 => /lib/libgomp.so.1 (0x1)\n\tlibblas.so.3 => ${link} (0x00007f3140114000)\n`;
}

test("links are followed to the selected BLAS", () => {
  expect(blasFromLdd(alternatives("blas/libblas.so.3.11.0"))?.name).toBe("reference");
  expect(blasFromLdd(alternatives("openblas-pthread/libblas.so.3"))?.name).toBe("OpenBLAS");
  expect(blasFromLdd(alternatives("atlas/libblas.so.3"))?.name).toBe("ATLAS");
  expect(blasFromLdd(alternatives("blis-pthread/libblas.so.3"))?.name).toBe("BLIS");
});

test("a libtorch with its own BLAS uses no system BLAS", () => {
  expect(blasFromLdd("\tlibc10.so => /opt/torch/lib/libc10.so (0x1)\n")).toBeUndefined();
});

test("MKL is recognized by its file", () => {
  expect(blasName("/usr/lib/x86_64-linux-gnu/libmkl_rt.so")).toBe("MKL");
});

function cudaLibtorch(cudaVersion: string) {
  const prefix = fakeLibtorch(join(temporaryFolder(), "torch"), { cuda: true });
  write(join(prefix, "version.py"), `__version__ = '2.11.0'\ncuda: Optional[str] = '${cudaVersion}'\n`);
  const verdict = judgePrefix(prefix, "a test", "x64");
  if (!("libtorch" in verdict)) throw new Error(verdict.problem);
  return verdict.libtorch;
}

function toolkit(folder: string, version: number): string {
  write(join(folder, "include/cuda_runtime.h"), "");
  write(join(folder, "include/cuda.h"), `#define CUDA_VERSION ${version}\n`);
  return folder;
}

test("the headers come from the toolkit in $CUDA_HOME", () => {
  const home = toolkit(temporaryFolder(), 13000);
  const found = findCudaHeaders(cudaLibtorch("13.0"), { env: { CUDA_HOME: home }, searchRoot: temporaryFolder() });
  expect(found).toEqual({ include: [join(home, "include")], version: "13.0" });
});

test("headers of another major version are skipped in favor of the packages next to torch", () => {
  const home = toolkit(temporaryFolder(), 12080);
  const libtorch = cudaLibtorch("13.0");
  const packaged = toolkit(join(libtorch.prefix, "../nvidia/cu13"), 13020);
  const found = findCudaHeaders(libtorch, { env: { CUDA_HOME: home }, searchRoot: temporaryFolder() });
  expect(found).toEqual({ include: [join(packaged, "include")], version: "13.2" });
});

test("an nvcc on PATH leads to its toolkit, through links", () => {
  const home = toolkit(temporaryFolder(), 13000);
  const bin = temporaryFolder();
  chmodSync(write(join(home, "bin/nvcc"), ""), 0o755);
  symlinkSync(join(home, "bin/nvcc"), join(bin, "nvcc"));
  const found = findCudaHeaders(cudaLibtorch("13.0"), { env: { PATH: bin }, searchRoot: temporaryFolder() });
  expect(found).toEqual({ include: [join(home, "include")], version: "13.0" });
});

test("if no headers fit, the found ones are reported", () => {
  const home = toolkit(temporaryFolder(), 12080);
  const found = findCudaHeaders(cudaLibtorch("13.0"), { env: { CUDA_HOME: home }, searchRoot: temporaryFolder() });
  expect(found).toEqual({ problem: `it needs the headers of CUDA 13.0, found only 12.8 in ${join(home, "include")}` });
});
