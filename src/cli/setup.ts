/** `nudge setup`: finds or installs libtorch and builds the addon, when that is due. */

import { join } from "node:path";
import { Command } from "commander";
import { buildFolder } from "../engine/build-folder.js";
import { runSetup } from "./run-setup.js";

/** The command. */
export function setupCommand(): Command {
  return new Command("setup")
    .description(
      "Finds libtorch, or installs it on Debian and its kin, and builds the engine against it: a minute or a few, once. A verb that computes does the same when there is no engine yet. Where the package's folder cannot be written to, the engine is built in ~/.cache/nudge/addon. NUDGE_NO_INSTALL=1 forbids installing; LIBTORCH and CXX name a libtorch and a compiler.",
    )
    .option("--again", "look for libtorch anew, after another one was installed")
    .option("--json", "print where the engine is as JSON")
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
