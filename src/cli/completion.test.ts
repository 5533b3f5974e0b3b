/** Runs the scripts in the shells themselves: bash is required, zsh and fish are tested if they are installed. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { algorithms } from "../algorithms/index.js";
import { type CompletedCommand, completionModel } from "./completion-model.js";
import { bashScript, fishScript, zshScript } from "./completion-scripts.js";
import { main, wholeProgram } from "./main.js";

let folder: string;
let model: CompletedCommand[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "nudge-completion-"));
  model = await completionModel(await wholeProgram());
  for (const [shell, script] of Object.entries({ bash: bashScript, zsh: zshScript, fish: fishScript }))
    writeFileSync(join(folder, shell), script(model));
  writeFileSync(join(folder, "a picture.png"), "");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The completions of bash for the last word. */
function inBash(...words: string[]): string[] {
  const code = `source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nudge; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", code, "bash", "nudge", ...words], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return stdout.split("\n").filter(Boolean);
}

test("bash completes verbs, those under them, options and their values", () => {
  expect(inBash("sw")).toEqual(["sweep"]);
  expect(inBash("sweep", "pl")).toEqual(["plan"]);
  expect(inBash("help", "tr")).toEqual(["train"]);
  expect(inBash("train", "--alg")).toEqual(["--algorithm"]);
  expect(inBash("train", "--algorithm", "")).toEqual(expect.arrayContaining(Object.keys(algorithms)));
  expect(inBash("train", "--algorithm", "erm", "--backbone", "mobile")).toEqual(["mobilenet_v2"]);
  expect(inBash("sweep", "run", "--launcher", "sl")).toEqual(["slurm"]);
  expect(inBash("export", "--format", "")).toEqual(["onnx", "safetensors", "hf", "pytorch", "web"]);
  expect(inBash("list", "al")).toEqual(["algorithms"]);
  expect(inBash("data", "verify", "pa")).toEqual(["pacs"]);
  expect(inBash("train", "--steps", "")).toEqual([]);
});

test("bash completes the last name of a list with commas", () => {
  expect(inBash("sweep", "plan", "--algorithms", "erm,co")).toEqual(["erm,coral", "erm,cond-cad"]);
  expect(inBash("sweep", "plan", "--data", "pacs,vlcs,office-h")).toEqual(["pacs,vlcs,office-home"]);
});

test("bash completes files with spaces in their names as one word, and folders where only those do", () => {
  expect(inBash("predict", "a")).toEqual(["a picture.png"]);
  expect(inBash("train", "--out", "a")).toEqual([]);
});

test("options that help hides are not completed, and those that help lists are", () => {
  const sweep = model.find(({ path }) => path === "sweep")!;
  expect(sweep.commands.map(({ name }) => name)).not.toContain("work");
  const train = model.find(({ path }) => path === "train")!;
  expect(train.options.flatMap(({ flags }) => flags)).toEqual(
    expect.arrayContaining(["--data", "--no-pretrained", "--plugin", "--help", "-h"]),
  );
});

/** Runs a shell; returns undefined if it is not installed. */
function shell(name: string, ...args: string[]): { status: number | null; stdout: string } | undefined {
  const { status, stdout, error } = spawnSync(name, args, { cwd: folder, encoding: "utf8" });
  return error ? undefined : { status, stdout };
}

test("fish completes the same if it is installed; its script contains every command and option", () => {
  const text = fishScript(model);
  for (const { path, options } of model.filter((command) => command.options.length > 0))
    for (const { flags } of options) expect(text).toContain(`-n '__nudge_at "${path}"' -l ${flags[0].slice(2)}`);
  expect(text.split("\n").every((line) => (line.match(/'/g) ?? []).length % 2 === 0)).toBe(true); // quotes are closed
  const answer = shell("fish", "-c", "source ./fish; complete -C 'nudge train --algorithm group'");
  if (answer) expect(answer.stdout).toMatch(/^group-dro\t/);
});

test("zsh accepts its script if it is installed; the script contains every command and option", () => {
  const text = zshScript(model);
  for (const { path, options } of model) {
    const part = text.slice(text.indexOf(`    '${path}')`));
    for (const { flags } of options) expect(part.slice(0, part.indexOf("\n      ;;"))).toContain(`'${flags[0]}:`);
  }
  expect(shell("zsh", "-n", "./zsh")?.status ?? 0).toBe(0);
});

test("an unknown shell is an error that lists the known ones", async () => {
  expect(await main(["completion", "tcsh"])).toBe(2);
});
