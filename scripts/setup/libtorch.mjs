/**
 * Examines a folder that may contain libtorch: its version from the headers, and the version, architecture and C++ ABI
 * of the library from the files. Nothing is executed and Python is not used, so any prefix can be examined: Debian's
 * /usr, a Python `torch` package, or the zip from pytorch.org.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { architectureOf, elfMachine, multiarch } from "./machine.mjs";
import { atLeast, sameMinor } from "./version.mjs";

/** The oldest libtorch that the addon supports (that of Debian 12). */
export const oldestLibtorch = "1.13";

/**
 * @typedef {object} Libtorch
 * @property {string} origin a description of where it was found ("the system", "Python's torch package")
 * @property {string} prefix the folder that holds it
 * @property {string} include its headers
 * @property {string} lib its libraries
 * @property {string} version
 * @property {0 | 1} abi the value of _GLIBCXX_USE_CXX11_ABI it was compiled with
 * @property {17 | 20} std the C++ standard its headers ask for, at least 17
 * @property {boolean} cuda whether it was built with CUDA
 * @property {string | undefined} cudaVersion the CUDA it was built with, where it says so
 */
/** @typedef {{ libtorch: Libtorch } | { problem: string, empty: boolean }} Verdict `empty`: nothing was found */

/** @param {string} path */
function textOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** The first existing path. @param {string[]} paths */
const firstOf = (paths) => paths.find((path) => existsSync(path));

/** The version in the headers. Since 2.13 the numbers are in torch/headeronly. @param {string} include */
export function headerVersion(include) {
  for (const file of ["torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h", "torch/version.h"]) {
    const text = textOf(join(include, file));
    const number = (/** @type {string} */ part) =>
      new RegExp(`#define TORCH_VERSION_${part}\\s+(\\d+)`).exec(text ?? "")?.[1];
    const [major, minor, patch] = [number("MAJOR"), number("MINOR"), number("PATCH")];
    if (major && minor) return `${major}.${minor}.${patch ?? 0}`;
  }
  return undefined;
}

/** The version of the library itself: from its file name (Debian), the file build-version next to it (the zip), or the
 * Python package's version.py. @param {string} library @param {string} prefix */
export function libraryVersion(library, prefix) {
  const suffix = /\.so\.(\d+\.\d+(?:\.\d+)?)$/.exec(basename(realpathSync(library)))?.[1];
  return suffix ?? textOf(join(prefix, "build-version"))?.trim() ?? pythonVersion(prefix)?.version;
}

/** The version in a Python package's version.py, read without importing it. @param {string} prefix */
export function pythonVersion(prefix) {
  const text = textOf(join(prefix, "version.py"));
  const version = /^__version__ = ['"]([^'"]+)['"]/m.exec(text ?? "")?.[1];
  if (!version) return undefined;
  return { version, cuda: /^cuda(?:: [^=]+)? = ['"]([^'"]+)['"]/m.exec(text ?? "")?.[1] };
}

/** The ELF machine number of a library; undefined if the file is not a 64-bit little-endian library.
 * @param {string} library */
export function machineOf(library) {
  const head = Buffer.alloc(20);
  const file = openSync(library, "r");
  try {
    readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
  if (head.toString("latin1", 0, 4) !== "\x7fELF" || head[4] !== 2 || head[5] !== 1) return undefined;
  return head.readUInt16LE(18);
}

/** The C++ ABI, from the mangled constructor of c10::Error: `__cxx11::basic_string` or the old `Ss`. Packages from
 * PyPI before 2.6 have the old one. If the symbol is not found, the new one is assumed. @param {string} libc10
 * @returns {0 | 1} */
export function abiOf(libc10) {
  const bytes = readFileSync(libc10);
  return bytes.includes("_ZN3c105ErrorC2ENS_14SourceLocationESs") ? 0 : 1;
}

/** The minimum C++ standard of the headers. @param {string} include @returns {17 | 20} */
export function standardOf(include) {
  const floor = /__cplusplus < (\d{6})L/.exec(textOf(join(include, "ATen/ATen.h")) ?? "")?.[1];
  return floor && Number(floor) > 201703 ? 20 : 17;
}

/** Examines the headers and libraries in the given folders.
 * @param {{ origin: string, prefix: string, include: string, libs: string[], arch: string }} where
 * @returns {Verdict} */
export function judge({ origin, prefix, include, libs, arch }) {
  const version = headerVersion(include);
  const library = firstOf(libs.map((lib) => join(lib, "libtorch_cpu.so")));
  const problem = (/** @type {string} */ text) => ({ problem: text, empty: false });
  if (!version && !library)
    return { problem: existsSync(prefix) ? "no libtorch there" : "no such folder", empty: true };
  if (!version) return problem(`${library} has no headers with it (looked for torch/version.h under ${include})`);
  if (!library) return problem(`headers of ${version} in ${include}, but no libtorch_cpu.so in ${libs.join(", ")}`);
  if (!atLeast(version, oldestLibtorch))
    return problem(`libtorch ${version} is too old: ${oldestLibtorch} or newer is needed`);
  const own = libraryVersion(library, prefix);
  if (own && !sameMinor(own, version))
    return problem(`the headers in ${include} are ${version}, but ${library} is ${own}: they must be of one version`);
  const machine = machineOf(library);
  if (machine === undefined) return problem(`${library} is not a 64-bit Linux library`);
  if (machine !== elfMachine(arch))
    return problem(`${library} is for ${architectureOf(machine)}, this Node is ${arch}`);
  const lib = join(library, "..");
  const missing = ["libtorch.so", "libc10.so"].filter((name) => !existsSync(join(lib, name)));
  if (missing.length > 0) return problem(`${lib} has libtorch_cpu.so but not ${missing.join(" and ")}`);
  return {
    libtorch: {
      origin,
      prefix,
      include,
      lib,
      version: own?.startsWith(version) ? own : version,
      abi: abiOf(join(lib, "libc10.so")),
      std: standardOf(include),
      cuda: existsSync(join(lib, "libtorch_cuda.so")) && existsSync(join(lib, "libc10_cuda.so")),
      cudaVersion:
        pythonVersion(prefix)?.cuda ??
        /\+cu(\d\d)(\d)$/
          .exec(own ?? "")
          ?.slice(1)
          .join("."),
    },
  };
}

/** Examines a prefix with the folders include/ and lib/: an unpacked zip, a Python package, /usr/local.
 * @param {string} prefix @param {string} origin @param {string} arch */
export function judgePrefix(prefix, origin, arch) {
  const folders = ["lib", "lib64", ...(multiarch(arch) ? [join("lib", multiarch(arch) ?? "")] : [])];
  const libs = folders.map((folder) => join(prefix, folder));
  return judge({ origin, prefix, include: join(prefix, "include"), libs, arch });
}
