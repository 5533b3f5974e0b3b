/** Training without weights on a real terminal, which `script` of util-linux makes: the question, and what an answer does. */

import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder, writePictures } from "../support/picture-folder.js";

const support = (name: string): string => fileURLToPath(new URL(`../support/${name}`, import.meta.url));
const hasScript = spawnSync("script", ["--version"]).status === 0;
if (!hasScript) console.warn("skipping a test on a terminal: there is no script (util-linux)");

test.skipIf(!hasScript)(
  'a terminal is asked once, and after "no" nothing is changed',
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    for (const domain of ["shop", "yard"]) await writePictures(join(folder, "pictures", domain), { cat: 4, dog: 4 });
    const command = [
      process.execPath,
      support("run-typescript.mjs"),
      support("nudge.ts"),
      "train",
      "--data",
      "pictures",
    ];
    const child = spawn("script", ["-qec", command.map((word) => `'${word}'`).join(" "), "/dev/null"], {
      cwd: folder,
      env: {
        ...process.env,
        XDG_CACHE_HOME: folder,
        NUDGE_WEIGHTS: "",
        TORCH_HOME: "",
        NUDGE_DOWNLOAD: "",
        NUDGE_NO_DOWNLOAD: "",
      },
      timeout: 100_000,
    });
    let printed = "";
    let answered = false;
    child.stdout.on("data", (bytes: Buffer) => {
      printed += bytes.toString("utf8");
      if (answered || !printed.includes("Download them now? [Y/n]")) return;
      answered = true;
      child.stdin.write("n\n");
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(2);
    expect(printed.match(/Download them now\?/g)).toHaveLength(1);
    expect(printed).toMatch(/from +https:\/\/download\.pytorch\.org\/models\/mobilenet_v2-b0353104\.pth/);
    expect(printed).toMatch(/download them: +nudge weights get mobilenet_v2/);
    expect(existsSync(join(folder, "runs"))).toBe(false);
    expect(existsSync(join(folder, "nudge", "weights"))).toBe(false);
  },
);
