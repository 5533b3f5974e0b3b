import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commitOf } from "./program-commit.js";

test("the commit of a portable archive is the one in its file, and an installed package has none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "nudge-commit-"));
  try {
    expect(await commitOf(folder)).toBeNull();
    writeFileSync(join(folder, "commit.txt"), "0123456789ab\n");
    expect(await commitOf(folder)).toBe("0123456789ab");
  } finally {
    await rm(folder, { recursive: true });
  }
});
