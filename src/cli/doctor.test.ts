import { expect, test, vi } from "vitest";
import { doctorCommand, factRows, reportText } from "./doctor.js";
import { type BuildSettings, blasInUse, type Engine, type Facts, readConfig } from "./doctor-facts.js";
import { findProblems } from "./doctor-problems.js";

// Two outputs of at::show_config, without the long list of flags.
const debian = `PyTorch built with:
  - GCC 12.2
  - C++ Version: 201402
  - Intel(R) MKL-DNN v2.6.3 (Git Hash N/A)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - LAPACK is enabled (usually provided by MKL)
  - CPU capability usage: AVX2
  - Build settings: BLAS_INFO=generic, USE_CUDA=OFF, USE_MKLDNN=ON, USE_OPENMP=ON,
`;
const packaged = `PyTorch built with:
  - GCC 13.3
  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - CPU capability usage: AVX512
  - CUDA Runtime 13.0
  - Build settings: BLAS_INFO=mkl, USE_CUDA=ON, USE_MKLDNN=ON,
`;

test("the build settings are read from the engine's own text", () => {
  const cpu: BuildSettings = { oneDnn: "2.6.3", openMp: true, mkl: false, cpuCapability: "AVX2", cuda: null };
  expect(readConfig(debian)).toEqual(cpu);
  expect(readConfig(packaged)).toEqual({
    oneDnn: "3.12.0",
    openMp: true,
    mkl: true,
    cpuCapability: "AVX512",
    cuda: "13.0",
  });
  expect(readConfig("")).toEqual({ oneDnn: null, openMp: false, mkl: false, cpuCapability: null, cuda: null });
});

test("the BLAS is the one mapped into the process", () => {
  const settings = readConfig(debian);
  const map = (path: string) => `7f31-7f32 r-xp 00000000 fe:00 4711    ${path}\n`;
  const lib = "/usr/lib/x86_64-linux-gnu";
  const reference = map(`${lib}/blas/libblas.so.3.11.0`) + map(`${lib}/lapack/liblapack.so.3.11.0`);
  expect(blasInUse(settings, reference)).toEqual({ name: "reference", path: `${lib}/blas/libblas.so.3.11.0` });
  const open = map(`${lib}/openblas-pthread/libblas.so.3`) + map(`${lib}/openblas-pthread/libopenblasp-r0.3.21.so`);
  expect(blasInUse(settings, open).name).toBe("OpenBLAS");
  expect(blasInUse(readConfig(packaged), "")).toEqual({ name: "MKL", path: null });
  expect(blasInUse(settings, "")).toEqual({ name: "unknown", path: null });
});

const engine: Engine = {
  version: "1.13.0",
  library: "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.0",
  settings: readConfig(debian),
  blas: { name: "OpenBLAS", path: "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so" },
  builtForCuda: false,
  threads: 2,
  gpus: [],
};
const facts: Facts = {
  nudge: "0.1.0",
  node: "v20.19.0",
  platform: "linux x64",
  addon: { path: "/nudge/build/nudge.node", exists: true, error: null, seconds: 0.61 },
  engine,
  setup: {
    libtorch: { origin: "the system", lib: "/usr/lib/x86_64-linux-gnu", version: "1.13.0", std: 17 },
    cuda: null,
    cudaProblem: null,
    compiler: { command: ["/usr/bin/g++"], version: "12.2.0" },
  },
  cores: 2,
  memory: { total: 8 * 2 ** 30, available: 6 * 2 ** 30 },
  nvidia: false,
};

/** The problems that are found with these changes to the facts. */
const wrong = (change: Partial<Facts>) => findProblems({ ...facts, ...change });
const wrongEngine = (change: Partial<Engine>, rest: Partial<Facts> = {}) =>
  wrong({ engine: { ...engine, ...change }, ...rest });

test("a machine without problems has no reported problems", () => {
  expect(findProblems(facts)).toEqual([]);
  expect(reportText(facts, [])).toMatch(/\n\nno problems found$/);
});

test("an engine that is missing or does not load is an error", () => {
  expect(wrong({ engine: null, addon: { ...facts.addon, exists: false, error: "missing" } })).toEqual([
    {
      severity: "error",
      what: "the engine has not been built: /nudge/build/nudge.node is missing",
      remedy: "npx nudge setup",
    },
  ]);
  expect(
    wrong({ engine: null, addon: { ...facts.addon, error: "libtorch.so: cannot open shared object file" } }),
  ).toEqual([
    {
      severity: "error",
      what: "the engine does not load: libtorch.so: cannot open shared object file",
      remedy: "npx nudge setup --again",
    },
  ]);
});

test("an old Node is an error", () => {
  expect(wrong({ node: "v20.9.0" })).toMatchObject([{ severity: "error", what: "Node v20.9.0 is older than 20.19" }]);
  expect(wrong({ node: "v18.20.0" })).toHaveLength(1);
  expect(wrong({ node: "v22.0.0" })).toEqual([]);
});

test("the reference BLAS, no oneDNN and no OpenMP are each named with a remedy", () => {
  expect(wrongEngine({ blas: { name: "reference", path: "/usr/lib/blas/libblas.so.3" } })).toMatchObject([
    {
      severity: "warning",
      what: expect.stringMatching(/25 times slower/),
      remedy: "sudo apt-get install libopenblas0-pthread",
    },
  ]);
  expect(wrongEngine({ settings: { ...engine.settings, oneDnn: null } })).toMatchObject([
    { what: expect.stringMatching(/without oneDNN/) },
  ]);
  expect(wrongEngine({ settings: { ...engine.settings, openMp: false } })).toMatchObject([
    { what: expect.stringMatching(/without OpenMP/) },
  ]);
});

test("more threads than cores and little memory are named", () => {
  expect(wrongEngine({ threads: 8 })).toMatchObject([{ remedy: "set NUDGE_THREADS=2" }]);
  expect(wrong({ memory: { total: 2 ** 32, available: 2 ** 30 } })).toMatchObject([
    { what: "only 1.0 GiB of memory is free" },
  ]);
});

test("a GPU that is not used is named by the reason", () => {
  const settings = readConfig(packaged);
  const setup = facts.setup!;
  expect(wrongEngine({}, { nvidia: true })).toMatchObject([{ what: expect.stringMatching(/built without CUDA$/) }]);
  const cudaProblem = "it needs the headers of CUDA 13.0, found none";
  expect(wrongEngine({ settings }, { nvidia: true, setup: { ...setup, cudaProblem } })).toMatchObject([
    { what: `the addon was built without CUDA: ${cudaProblem}`, remedy: expect.stringMatching(/CUDA_HOME/) },
  ]);
  expect(wrongEngine({ settings, builtForCuda: true }, { nvidia: true })).toMatchObject([
    { what: expect.stringMatching(/sees no GPU/) },
  ]);
  const gpus = [{ name: "NVIDIA H200", memory: 150e9, capability: "9.0" }];
  expect(wrongEngine({ settings, builtForCuda: true, gpus }, { nvidia: true })).toEqual([]);
});

test("a library other than the one built against is named", () => {
  expect(wrongEngine({ library: "/opt/other/libtorch_cpu.so" })).toMatchObject([
    { remedy: expect.stringMatching(/LD_LIBRARY_PATH/) },
  ]);
  const setup = { ...facts.setup!, libtorch: { ...facts.setup!.libtorch, version: "2.11.0" } };
  expect(wrong({ setup })).toMatchObject([{ remedy: "npx nudge setup" }]);
});

test("the report has a row for each fact, and a line with the remedy for each problem", () => {
  expect(Object.fromEntries(factRows(facts))).toEqual({
    nudge: "0.1.0",
    node: "v20.19.0, linux x64",
    addon: "/nudge/build/nudge.node, loads in 0.6 s",
    libtorch: "1.13.0 from the system, /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13.0",
    oneDNN: "2.6.3",
    BLAS: "OpenBLAS, /usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so",
    OpenMP: "yes",
    CUDA: "no",
    cpu: "2 of 2 cores used, AVX2",
    compiler: "g++ 12.2.0, C++17",
    memory: "6.0 GiB free of 8.0 GiB",
  });
  const missing: Facts = { ...facts, engine: null, setup: null, addon: { ...facts.addon, exists: false, error: "x" } };
  expect(reportText(missing, findProblems(missing)).split("\n").slice(2)).toEqual([
    "addon   /nudge/build/nudge.node, missing",
    "memory  6.0 GiB free of 8.0 GiB",
    "",
    "error: the engine has not been built: /nudge/build/nudge.node is missing",
    "  fix: npx nudge setup",
  ]);
});

test("--only runs the checks with a text in their name, and names a text that no check has", {
  timeout: 120_000,
}, async () => {
  const printed: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => printed.push(String(text)) > 0);
  const run = (...words: string[]): Promise<unknown> => doctorCommand().parseAsync(words, { from: "user" });
  try {
    await run("--full", "--device", "cpu", "--only", "erm: as on the CPU");
    await expect(run("--full", "--device", "cpu", "--only", "nothing")).rejects.toThrow(
      "--only nothing: no check has this text in its name",
    );
    await expect(run("--only", "ERM")).rejects.toThrow("--only selects checks of --full");
  } finally {
    write.mockRestore();
  }
  const checks = printed.filter((line) => /^(ok|FAIL) /.test(line));
  expect(checks.map((line) => line.split(": weights")[0])).toEqual([
    "ok     ERM: as on the CPU",
    "ok     IB-ERM: as on the CPU",
  ]);
  expect(printed).toContainEqual(expect.stringMatching(/^all 2 checks passed in/));
});
