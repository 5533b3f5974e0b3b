/** `nudge unpack`: restores the folders of a packed study. Never loads the engine. */

import { Command } from "commander";
import { checkFolder } from "./writable-place.js";

type Write = (text: string) => void;

/** The command. `write` receives its output. */
export function unpackCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("unpack")
    .description(
      "Restores the folders of a packed study: the plan of the sweep and one folder per run. You can then resume the sweep with nudge sweep run. Damaged parts are skipped and reported.",
    )
    .argument("<file>", "a file that nudge pack wrote")
    .option("--out <dir>", "an empty or new folder (default: the name of the file without its extension)")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge unpack table1.nudge                              into table1/
  nudge unpack results/pacs-coral.nudge --out sweeps/pacs-coral && nudge sweep run sweeps/pacs-coral`,
    )
    .action(async (file: string, flags: { out?: string; json?: true }) => {
      const { withoutPackEnding } = await import("../pack/pack-file.js");
      const { unpackStudy } = await import("../pack/unpack-study.js");
      const out = flags.out ?? withoutPackEnding(file);
      checkFolder(out);
      const { runs, notes } = unpackStudy(file, out);
      for (const note of notes) process.stderr.write(`nudge: ${note}\n`);
      if (notes.length > 0) process.exitCode = 1;
      write(
        flags.json
          ? `${JSON.stringify({ out, runs, notes })}\n`
          : `unpacked ${runs} ${runs === 1 ? "run" : "runs"} into ${out}\n`,
      );
    });
}
