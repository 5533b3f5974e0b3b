/**
 * The lock on two mounts of a network file system: two clients of SFTP (sshfs) with caches of their own, each with processes in a
 * namespace of its own, as on two machines: none can see whether a process of the other lives, only whether its counter stands
 * still. Needs root, /dev/fuse, sshfs and sftp-server, and is skipped elsewhere. Nothing listens on a port: each client talks to a
 * server of its own through a pipe, over one folder.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { contend } from "../support/contend.js";

const SERVER = "/usr/lib/openssh/sftp-server";
const works = (...[program, ...args]: string[]): boolean => spawnSync(program, args).status === 0;
const possible =
  existsSync("/dev/fuse") &&
  existsSync(SERVER) &&
  works("sshfs", "--version") &&
  works("unshare", "--pid", "--fork", "true");
if (!possible)
  console.warn("skipping the lock on a network file system: needs root, /dev/fuse, sshfs and openssh-sftp-server");

const turns = process.env.NUDGE_LONG ? 100 : 8; // of each process
const STILL_FOR = 4_000;
/** Starts a program in a namespace of its own, not as its first process: that one cannot be killed from inside. */
const OTHER_MACHINE = "unshare --pid --fork --mount-proc --kill-child sh -c".split(" ").concat('"$@"; exit $?', "sh");

test.runIf(possible)(
  "only one process at a time holds the lock, across two mounts",
  { timeout: 1_800_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "nudge-network-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const shared = join(folder, "shared");
    mkdirSync(shared);
    const connection = join(folder, "connection");
    writeFileSync(connection, `#!/bin/sh\nexec ${SERVER}\n`);
    chmodSync(connection, 0o755);
    const mounts = ["one", "two"].map((name) => {
      const mount = join(folder, name);
      mkdirSync(mount);
      onTestFinished(() => void spawnSync("umount", ["--lazy", mount]));
      expect(works("sshfs", "-o", `ssh_command=${connection}`, `here:${shared}`, mount)).toBe(true);
      return mount;
    });
    writeFileSync(join(mounts[0], "seen"), "");
    expect(existsSync(join(mounts[1], "seen")) && existsSync(join(shared, "seen"))).toBe(true);
    const { deaths, codes, log } = await contend({
      folder,
      processes: [0, 0, 1, 1].map((i) => ({ lock: join(mounts[i], "lock"), words: i === 0 ? [] : OTHER_MACHINE })),
      ...{ turns, odds: 0.2, stillFor: STILL_FOR },
    });
    console.info(`${4 * turns} turns of 4 processes on two mounts, of which ${deaths} were killed`);
    expect(log).toBe("");
    expect(codes).toEqual([]);
    expect(deaths).toBeGreaterThan(0);
  },
);
