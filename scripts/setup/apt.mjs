/**
 * Installs packages with apt on Debian-based systems: whether it is permitted, how large it is, and the installation.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lastLines, run, which } from "./command.mjs";
import { oldestLibtorch } from "./libtorch.mjs";
import { SetupError, say, timed } from "./report.mjs";
import { atLeast } from "./version.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */
/** @typedef {{ command: string[] } | { problem: string }} Right the start of an apt-get command line, or why there is none */

/**
 * Whether this is a Debian-based system on which packages can be installed without asking.
 * @param {{ env: Environment, searchRoot: string, uid?: number }} where @returns {Promise<Right>}
 */
export async function rightToInstall({ env, searchRoot, uid = process.getuid?.() ?? -1 }) {
  if (env.NUDGE_NO_INSTALL && env.NUDGE_NO_INSTALL !== "0") return { problem: "forbidden by NUDGE_NO_INSTALL" };
  const file = join(searchRoot, "etc/os-release");
  const release = existsSync(file) ? readFileSync(file, "utf8") : "";
  const value = (/** @type {string} */ key) => new RegExp(`^${key}="?([^"\n]*)"?$`, "m").exec(release)?.[1] ?? "";
  const kin = `${value("ID")} ${value("ID_LIKE")}`.split(" ");
  if (!kin.includes("debian") && !kin.includes("ubuntu"))
    return { problem: `this is ${value("PRETTY_NAME") || "an unknown system"}, not Debian or Ubuntu` };
  const apt = which("apt-get", env);
  if (!apt) return { problem: "there is no apt-get on PATH" };
  if (uid === 0) return { command: ["env", "DEBIAN_FRONTEND=noninteractive", apt] };
  const sudo = which("sudo", env);
  if (sudo && (await run(sudo, ["-n", "true"], { env })).code === 0)
    return { command: [sudo, "-n", "env", "DEBIAN_FRONTEND=noninteractive", apt] };
  return { problem: "not root, and sudo asks for a password or is not there" };
}

/** The version that apt would install, from `apt-cache policy`; undefined if there is none. @param {string} policy */
export function candidateVersion(policy) {
  const version = /^\s*Candidate: (.+)$/m.exec(policy)?.[1];
  return version && version !== "(none)" ? version.replace(/^\d+:/, "") : undefined;
}

/** The size in the output of a dry run: "61.2 MB to download, 402 MB on disk"; empty if the output has none. @param {string} output */
export function sizeOf(output) {
  const download = /Need to get ([\d.,]+ \w?B)(?:\/([\d.,]+ \w?B))? of archives/.exec(output);
  const disk = /After this operation, ([\d.,]+ \w?B) of additional disk space/.exec(output)?.[1];
  return [download && `${download[1]} to download`, disk && `${disk} on disk`].filter(Boolean).join(", ");
}

/** Installs packages, after updating apt's lists if these do not have them. It first prints what is installed, why, and the size. Throws a
 * SetupError with the reason if this fails.
 * @param {string[]} packages @param {string} why @param {{ right: { command: string[] }, env: Environment }} how */
export async function aptInstall(packages, why, { right, env }) {
  const [program, ...first] = right.command;
  const options = { env: { ...env, LC_ALL: "C" } };
  const apt = (/** @type {string[]} */ ...args) =>
    run(program, [...first, "-o", "DPkg::Lock::Timeout=300", ...args], options);
  const candidate = async () => candidateVersion((await run("apt-cache", ["policy", packages[0]], options)).stdout);
  const update = () => timed("refreshing the package lists (apt-get update)", () => apt("update"));

  let version = await candidate();
  let refreshed;
  if (!version) {
    refreshed = await update();
    version = await candidate();
  }
  if (!version) {
    const why = refreshed && refreshed.code !== 0 ? `; apt-get update failed: ${lastLines(refreshed.output, 2)}` : "";
    throw new SetupError(`the package lists have no ${packages[0]}${why}`);
  }
  if (packages[0] === "libtorch-dev" && !atLeast(version, oldestLibtorch))
    throw new SetupError(`apt-get would install ${packages[0]} ${version}: ${oldestLibtorch} or newer is needed`);

  const wanted = ["install", "--no-install-recommends", ...packages];
  const size = sizeOf((await apt("--assume-no", ...wanted)).output);
  const what = `installing ${packages.join(" and ")} with apt-get: ${why}${size && ` (${size})`}`;
  let result = await timed(what, () => apt("-y", ...wanted));
  if (result.code !== 0 && !refreshed) {
    // Old lists may name files that the mirror no longer has.
    await update();
    result = await apt("-y", ...wanted);
  }
  if (result.code !== 0) throw new SetupError(`apt-get install failed: ${lastLines(result.output, 3)}`);
  say(`installed ${packages[0]} ${version}`);
}
