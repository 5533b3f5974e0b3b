/** A disk of a size one chooses, so that a test can fill it: a file system in memory, which only root may mount. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** More than any test leaves on it. */
const SIZE = 64 << 20;

/** What counts on it: a file takes whole blocks. */
const BLOCK = 4096;

export interface SmallDisk {
  readonly folder: string;
  /** Leaves room for so many bytes beside what is there now. */
  leave(bytes: number): void;
  /** Makes room again. */
  makeRoom(): void;
}

/** Mounts a disk that goes when the test file ends; undefined, with a warning that says why, where that is not allowed. */
export function mountSmallDisk(): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), "nudge-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "nudge-test", folder], { encoding: "utf8" });
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true });
    const why = mounted.error?.message ?? mounted.stderr.trim();
    console.warn(`skipping tests on a full disk: none could be mounted: ${why}`);
    return undefined;
  }
  afterAll(() => {
    spawnSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  const ballast = join(folder, "ballast");
  const makeRoom = (): void => rmSync(ballast, { force: true });
  return {
    folder,
    makeRoom,
    leave(bytes) {
      makeRoom();
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, new Uint8Array(Math.max(0, Math.floor((bavail * bsize - bytes) / BLOCK) * BLOCK)));
    },
  };
}
