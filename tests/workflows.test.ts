/** The workflows and templates in .github: they are YAML, and the commands they run exist. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const names = (folder: string): string[] => readdirSync(join(root, folder)).map((name) => join(folder, name));

interface Job {
  readonly "runs-on": string;
  readonly "timeout-minutes": number;
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

const { scripts, engines } = JSON.parse(read("package.json"));

test("the workflow runs npm test on Node 20, 22 and 24 and packs the package, with commands that exist", () => {
  const { jobs, permissions } = parse(read(".github/workflows/test.yml")) as {
    readonly jobs: Readonly<Record<string, Job>>;
    readonly permissions: unknown;
  };
  expect(permissions).toEqual({ contents: "read" });
  expect(jobs.test.strategy?.matrix.node).toEqual([20, 22, 24]);
  expect(engines.node).toBe(">=20.19");
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => (run ? [run] : [])));
  expect(commands).toEqual(expect.arrayContaining(["npm test", "npm pack"]));
  const known = new Set([
    ...Object.keys(scripts).map((name) => `npm run ${name}`),
    "npm test",
    "npm pack",
    "sudo apt-get update",
  ]);
  for (const command of commands) expect(known, `${command} is no command of this project`).toContain(command);
  for (const { steps, ...job } of Object.values(jobs)) {
    expect(job["timeout-minutes"]).toBeGreaterThan(0);
    for (const { uses } of steps) if (uses) expect(uses).toMatch(/^actions\/[\w-]+@v\d+$/);
  }
});

test("issue templates have a name, a description and fields with labels", () => {
  const forms = names(".github/ISSUE_TEMPLATE").filter((name) => !name.endsWith("config.yml"));
  expect(forms.length).toBeGreaterThan(1);
  for (const form of forms) {
    const { name, description, body } = parse(read(form));
    expect([typeof name, typeof description]).toEqual(["string", "string"]);
    for (const { id, attributes } of body) expect([typeof id, typeof attributes.label]).toEqual(["string", "string"]);
  }
});
