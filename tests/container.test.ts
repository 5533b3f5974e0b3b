/** The container file cannot be built where tests run; what it names must at least be there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

test("the container file copies existing files, runs existing scripts, and installs what setup would install", () => {
  const file = read("Containerfile");
  const copied = [...file.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names]) => names.split(" "));
  expect(copied).toEqual(["package.json", "package-lock.json", "."]);
  for (const name of copied) expect(existsSync(join(root, name))).toBe(true);
  const scripts = [...file.matchAll(/npm run (\w+)/g)].map(([, name]) => name);
  const { scripts: known } = JSON.parse(read("package.json"));
  expect(scripts.filter((name) => !(name in known))).toEqual([]);
  const [, entry] = /ENTRYPOINT \["node", "\/nudge\/(.+)"\]/.exec(file) ?? [];
  expect(existsSync(join(root, entry))).toBe(true);
  const installed = [...read("scripts/setup/engine.mjs").matchAll(/aptInstall\(\[(.+?)\]/g)].flatMap(([, names]) =>
    names.split(", ").map((name) => name.replaceAll('"', "")),
  );
  expect(installed).toContain("libtorch-dev");
  for (const name of installed) expect(file).toContain(name);
});
