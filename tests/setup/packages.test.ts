import { expect, test } from "vitest";
import { npmCommand, packagesMatch } from "../../scripts/setup/packages.mjs";

const locked = {
  "": { version: "0.1.0" },
  "node_modules/commander": { version: "14.0.3", integrity: "sha512-a" },
  "node_modules/sharp-win32": { version: "1.0.0", integrity: "sha512-b", optional: true },
};

test("the installed npm packages are compared with the lock file", () => {
  const commander = { version: "14.0.3", integrity: "sha512-a" };
  expect(packagesMatch(locked, { "node_modules/commander": commander })).toBe(true);
  expect(packagesMatch(locked, {})).toBe(false);
  expect(packagesMatch(locked, { "node_modules/commander": { ...commander, version: "14.0.2" } })).toBe(false);
  expect(packagesMatch(locked, { "node_modules/commander": { ...commander, integrity: "sha512-c" } })).toBe(false);
  expect(packagesMatch(locked, { "node_modules/commander": commander, "node_modules/extra": {} })).toBe(false);
});

test("the npm that runs the script is used, and no other package manager", () => {
  expect(npmCommand({ npm_execpath: "/opt/npm/bin/npm-cli.js" })).toEqual([
    process.execPath,
    "/opt/npm/bin/npm-cli.js",
  ]);
  expect(npmCommand({ npm_execpath: "/opt/yarn/bin/yarn.js" })).toEqual(["npm"]);
  expect(npmCommand({})).toEqual(["npm"]);
});
