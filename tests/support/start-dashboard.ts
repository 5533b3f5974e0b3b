/** Starts `nudge dashboard` as it was built, in a process of its own that ends with the test. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const program = fileURLToPath(new URL("../../bin/nudge.mjs", import.meta.url));

/** The page's address and the process that serves it. With `token`, the address works once, as it does for users. */
export async function startDashboardProcess(
  folder: string,
  { port = 0, token = false } = {},
): Promise<{ url: string; pid: number }> {
  const words = [program, "dashboard", folder, "--port", String(port), "--json", ...(token ? [] : ["--no-token"])];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", token ? "ignore" : "inherit"] });
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
