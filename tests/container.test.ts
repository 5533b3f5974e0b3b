/** The container file cannot be built where tests run. What it names must exist, and must be what setup would install. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

/** The instructions of the file, with continued lines joined. */
const instructions = read("Containerfile")
  .replaceAll(/\\\n/g, " ")
  .split("\n")
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => ({ name: line.split(" ")[0], rest: line.slice(line.indexOf(" ") + 1).replaceAll(/\s+/g, " ") }));

const all = (name: string): string[] => instructions.filter((each) => each.name === name).map(({ rest }) => rest);

test("the container file has only known instructions, on a slim Debian whose release is named", () => {
  const known = ["FROM", "RUN", "WORKDIR", "COPY", "ENTRYPOINT", "CMD"];
  expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
  // Debian 13 is the first release whose Node.js (20.19) is new enough.
  expect(all("FROM")).toEqual(["debian:trixie-slim"]);
  expect(JSON.parse(read("package.json")).engines.node).toBe(">=20.19");
});

test("the container file installs the packages that setup would install, a compiler and Node.js", () => {
  const bySetup = [...read("scripts/setup/engine.mjs").matchAll(/aptInstall\(\[(.+?)\]/g)].flatMap(([, names]) =>
    names.split(", ").map((name) => name.replaceAll('"', "")),
  );
  expect(bySetup).toContain("libtorch-dev");
  const installed = all("RUN").flatMap((command) =>
    [...command.matchAll(/apt-get install -y --no-install-recommends ([^&]+?) &&/g)].flatMap(([, names]) =>
      names.split(" "),
    ),
  );
  expect(installed.sort()).toEqual([...new Set([...bySetup, "g++", "nodejs", "npm"])].sort());
});

test("the container file copies existing files and runs existing commands", () => {
  const copied = all("COPY").flatMap((names) => names.split(" ").slice(0, -1));
  expect(copied).toEqual(["package.json", "package-lock.json", "."]);
  for (const name of copied) expect(existsSync(join(root, name))).toBe(true);
  const { scripts } = JSON.parse(read("package.json"));
  const run = all("RUN").flatMap((command) => [...command.matchAll(/npm run (\w+)/g)].map(([, name]) => name));
  expect(run).toEqual(["setup"]);
  for (const name of run) expect(scripts).toHaveProperty(name);
  const [program, file] = JSON.parse(all("ENTRYPOINT")[0]);
  expect(program).toBe("node");
  expect(existsSync(file.replace("/nudge", root))).toBe(true);
  expect(JSON.parse(all("CMD")[0])).toEqual(["quickstart"]);
});
