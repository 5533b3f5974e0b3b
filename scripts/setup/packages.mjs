/**
 * Installs the npm packages of a clone if node_modules differs from package-lock.json. It uses `npm install --no-save`,
 * which follows the lock file and does not change it, instead of `npm ci`, which refuses a lock file without the
 * optional binaries of every other system; a registry mirror may not have them.
 */
import { basename, join } from "node:path";
import { firstLines, run } from "./command.mjs";
import { SetupError, timed } from "./report.mjs";
import { readJson } from "./stamp.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */
/** @typedef {Record<string, { version?: string, integrity?: string, optional?: boolean }>} Packages as in a lock file */

/** Whether the installed packages are those of the lock file. npm writes node_modules/.package-lock.json at the end of an installation;
 * optional packages (binaries for other systems) may be absent. @param {Packages} locked @param {Packages} installed */
export function packagesMatch(locked, installed) {
  const names = Object.keys(locked).filter((name) => name !== "");
  const same = (/** @type {string} */ name) =>
    installed[name].version === locked[name].version && installed[name].integrity === locked[name].integrity;
  return (
    names.every((name) => (installed[name] ? same(name) : locked[name].optional)) &&
    Object.keys(installed).every((name) => locked[name])
  );
}

/** Whether nothing needs to be installed. This is also true if npm installed this package itself, which then has no lock file.
 * @param {string} root */
export function packagesAreCurrent(root) {
  const locked = readJson(join(root, "package-lock.json"))?.packages;
  if (!locked) return true;
  const installed = readJson(join(root, "node_modules/.package-lock.json"))?.packages;
  return installed !== undefined && packagesMatch(locked, installed);
}

/** The npm that started this process, so that `npm run` in a version manager uses the same one; otherwise the one on PATH.
 * @param {Environment} env @returns {string[]} */
export function npmCommand(env) {
  const outer = env.npm_execpath;
  return outer && basename(outer) === "npm-cli.js" ? [process.execPath, outer] : ["npm"];
}

/** @param {string} root @param {Environment} env */
export async function installPackages(root, env) {
  const [program, ...first] = npmCommand(env);
  // Dev packages too, whatever NODE_ENV is, because the compiler is one of them. No install scripts are run: all
  // packages contain what they need, and one script would download CUDA libraries that are not used.
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const args = [...first, "install", "--no-save", "--include=dev", "--ignore-scripts", ...quiet];
  const result = await timed("installing packages (npm install)", () => run(program, args, { cwd: root, env }));
  if (result.code !== 0)
    throw new SetupError(
      `installing packages failed:\n${firstLines(result.output, 12)}\nIs the package registry reachable? Try: npm install`,
    );
  if (!packagesAreCurrent(root))
    throw new SetupError("package.json and package-lock.json do not agree on what to install. Try: npm install");
}
