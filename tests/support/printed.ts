/** Catches what a command prints while a test file runs, afresh for each test. */

import { afterEach, beforeEach, vi } from "vitest";

/** Call once at the top of a file; the object returned holds the text printed so far by the test now running. */
export function catchPrinted(): { stdout: string; stderr: string } {
  const printed = { stdout: "", stderr: "" };
  beforeEach(() => {
    Object.assign(printed, { stdout: "", stderr: "" });
    for (const name of ["stdout", "stderr"] as const)
      vi.spyOn(process[name], "write").mockImplementation((text) => {
        printed[name] += text;
        return true;
      });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    process.exitCode = undefined;
  });
  return printed;
}
