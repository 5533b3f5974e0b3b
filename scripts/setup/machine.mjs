/** The requirements of this machine: a recent Node, on Linux. */
import { SetupError } from "./report.mjs";
import { atLeast } from "./version.mjs";

/** The oldest supported Node (the minimum of the packages). */
export const oldestNode = "20.19.0";

/** ELF machine numbers, by the architecture names of Node.js. @type {Record<string, number>} */
const elfMachines = { ia32: 3, ppc64: 21, s390x: 22, arm: 40, x64: 62, arm64: 183, riscv64: 243, loong64: 258 };

/** Debian's multiarch folder names. @type {Record<string, string>} */
const multiarchNames = {
  x64: "x86_64-linux-gnu",
  arm64: "aarch64-linux-gnu",
  ppc64: "powerpc64le-linux-gnu",
  riscv64: "riscv64-linux-gnu",
};

/** The ELF machine number of a Node architecture. @param {string} arch */
export const elfMachine = (arch) => elfMachines[arch];

/** The Node architecture of an ELF machine number, for messages. @param {number} machine */
export function architectureOf(machine) {
  return Object.keys(elfMachines).find((arch) => elfMachines[arch] === machine) ?? `ELF machine ${machine}`;
}

/** The folder in /usr/lib that contains the libraries of this architecture on Debian, or undefined.
 * @param {string} arch @returns {string | undefined} */
export const multiarch = (arch) => multiarchNames[arch];

/** Rejects an unsupported version of Node.js or operating system. @param {{ node: string, platform: string }} machine */
export function checkMachine({ node, platform }) {
  if (!atLeast(node, oldestNode))
    throw new SetupError(
      `Node ${oldestNode} or newer is needed, this is ${node}. Get one from https://nodejs.org or your distribution`,
    );
  if (platform !== "linux")
    throw new SetupError(
      `the engine is built and tested on Linux, this is ${platform}. Use a Linux machine or container`,
    );
}
