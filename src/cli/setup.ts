/** `nudge setup`: finds or installs libtorch and builds the addon, if needed. */

import { join } from "node:path";
import { Command } from "commander";
import { buildFolder } from "../engine/build-folder.js";
import { runSetup } from "./run-setup.js";

/** The command. */
export function setupCommand(): Command {
  return new Command("setup")
    .description(
      "Finds libtorch, or installs it on Debian-based systems if permitted, and builds the engine against it. This takes a few minutes and happens once per machine; builds are kept in ~/.cache/nudge/engine for other projects, or in the folder that NUDGE_ENGINE_CACHE names (0 keeps none). Commands that need the engine do it automatically. If the package's folder is not writable, the engine is built in ~/.cache/nudge/addon. Set NUDGE_NO_INSTALL=1 to forbid installing; set LIBTORCH and CXX to choose a libtorch and a compiler.",
    )
    .option("--again", "search for libtorch again, for example after installing another one")
    .option("--json", "print the path of the engine as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge setup                          build the engine now
  nudge setup --again                  after another libtorch was installed
  LIBTORCH=~/libtorch nudge setup      against the libtorch in this folder`,
    )
    .action(({ again, json }: { again?: true; json?: true }) => {
      const code = runSetup(again ? ["--again"] : []);
      if (code !== 0) {
        process.exitCode = code;
        return;
      }
      const addon = join(buildFolder(), "nudge.node");
      process.stdout.write(json ? `${JSON.stringify({ addon }, null, 2)}\n` : `the engine is ready: ${addon}\n`);
    });
}
