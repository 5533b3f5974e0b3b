/** Starts `nudge dashboard` as it was built, in a process of its own that ends with the test. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const program = fileURLToPath(new URL("../../bin/nudge.mjs", import.meta.url));

/** The page's address and the process that serves it. */
export async function startDashboardProcess(folder: string, port = 0): Promise<{ url: string; pid: number }> {
  const child = spawn(process.execPath, [program, "dashboard", folder, "--port", String(port), "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    if (child.exitCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`nudge dashboard ended with ${code} before it said its address`);
  });
  ended.catch(() => {}); // also when the test ends it
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended])) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, pid: child.pid! };
}
