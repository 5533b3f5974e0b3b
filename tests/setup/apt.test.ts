import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { aptInstall, candidateVersion, rightToInstall, sizeOf } from "../../scripts/setup/apt.mjs";
import { temporaryFolder, write } from "./fake-libtorch.js";

/** What was said while a test ran. */
let said: string[];
beforeEach(() => {
  said = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  return () => vi.restoreAllMocks();
});

const dryRun = "Need to get 61.2 MB of archives.\nAfter this operation, 402 MB of additional disk space will be used.";
const debian = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n';

/** A root with an os-release and programs on its PATH, each a shell script. */
function machine(release: string, programs: Record<string, string> = {}) {
  const searchRoot = temporaryFolder();
  write(join(searchRoot, "etc/os-release"), release);
  for (const [name, script] of Object.entries(programs))
    chmodSync(write(join(searchRoot, "bin", name), `#!/bin/sh\n${script}\n`), 0o755);
  const env: Record<string, string | undefined> = { PATH: `${join(searchRoot, "bin")}` };
  return { searchRoot, env };
}

test("root on Debian may install", async () => {
  const where = machine(debian, { "apt-get": "true" });
  const command = ["env", "DEBIAN_FRONTEND=noninteractive", join(where.searchRoot, "bin/apt-get")];
  expect(await rightToInstall({ ...where, uid: 0 })).toEqual({ command });
});

test("derivatives of Debian are recognized by ID_LIKE", async () => {
  const where = machine('ID=linuxmint\nID_LIKE="ubuntu debian"\n', { "apt-get": "true" });
  expect(await rightToInstall({ ...where, uid: 0 })).toHaveProperty("command");
});

test("a user may install if sudo asks for no password", async () => {
  const where = machine(debian, { "apt-get": "true", sudo: "exit 0" });
  const right = await rightToInstall({ ...where, uid: 1000 });
  expect(right).toMatchObject({
    command: [join(where.searchRoot, "bin/sudo"), "-n", "env", expect.anything(), expect.anything()],
  });
});

test("the reason for a missing permission is reported", async () => {
  const debianHere = machine(debian, { "apt-get": "true", sudo: "exit 1" });
  expect(await rightToInstall({ ...debianHere, uid: 1000 })).toEqual({
    problem: "not root, and sudo asks for a password or is not there",
  });
  const fedora = machine('PRETTY_NAME="Fedora Linux 40"\nID=fedora\n');
  expect(await rightToInstall({ ...fedora, uid: 0 })).toEqual({
    problem: "this is Fedora Linux 40, not Debian or Ubuntu",
  });
  const forbidden = { ...debianHere, env: { ...debianHere.env, NUDGE_NO_INSTALL: "1" } };
  expect(await rightToInstall({ ...forbidden, uid: 0 })).toEqual({ problem: "forbidden by NUDGE_NO_INSTALL" });
});

test("apt's candidate is read without its epoch", () => {
  expect(candidateVersion("libtorch-dev:\n  Installed: (none)\n  Candidate: 1.13.1+dfsg-4\n")).toBe("1.13.1+dfsg-4");
  expect(candidateVersion("x:\n  Candidate: 2:1.13.1\n")).toBe("1.13.1");
  expect(candidateVersion("x:\n  Candidate: (none)\n")).toBeUndefined();
  expect(candidateVersion("")).toBeUndefined();
});

test("the size is read from a dry run", () => {
  const output =
    "Need to get 61.2 MB of archives.\nAfter this operation, 402 MB of additional disk space will be used.\n";
  expect(sizeOf(output)).toBe("61.2 MB to download, 402 MB on disk");
  expect(
    sizeOf(
      "Need to get 0 B/61.2 MB of archives.\nAfter this operation, 402 MB of additional disk space will be used.\n",
    ),
  ).toBe("0 B to download, 402 MB on disk");
  expect(sizeOf("nothing to do")).toBe("");
});

/** Runs aptInstall against an apt that notes its calls in a file and knows a candidate only after `update`, if at all. */
async function install(candidate: string, code = 0) {
  const { searchRoot, env } = machine(debian, {
    "apt-get": `echo "$@" >> $LOG\ncase "$*" in *update*) touch $LOG.updated;; *assume-no*) echo '${dryRun}'; exit 1;; *-y*) exit ${code};; esac`,
    "apt-cache": `if [ -e $LOG.updated ]; then echo '  Candidate: ${candidate}'; fi`,
  });
  const log = write(join(searchRoot, "log"), "");
  const right = { command: [join(searchRoot, "bin/apt-get")] };
  const tools = { ...env, PATH: `${env.PATH}:/usr/bin:/bin`, LOG: log };
  await aptInstall(["libtorch-dev", "libopenblas0-pthread"], "a test", { right, env: tools });
  return readFileSync(log, "utf8").trim().split("\n");
}

test("lists are refreshed if they do not have the package, which is installed without recommended packages", async () => {
  const calls = await install("1.13.1+dfsg-4");
  expect(calls.map((call) => call.replace("-o DPkg::Lock::Timeout=300 ", ""))).toEqual([
    "update",
    "--assume-no install --no-install-recommends libtorch-dev libopenblas0-pthread",
    "-y install --no-install-recommends libtorch-dev libopenblas0-pthread",
  ]);
  expect(said).toContain(
    "[setup] installing libtorch-dev and libopenblas0-pthread with apt-get: a test (61.2 MB to download, 402 MB on disk) …\n",
  );
});

test("a package that is too old is not installed", async () => {
  await expect(install("1.8.1-5")).rejects.toThrow(
    "apt-get would install libtorch-dev 1.8.1-5: 1.13 or newer is needed",
  );
});

test("a package that apt does not have, and a failed install, are reported", async () => {
  await expect(install("(none)")).rejects.toThrow("the package lists have no libtorch-dev");
  await expect(install("1.13.1", 100)).rejects.toThrow("apt-get install failed");
});
