/** `nudge pack`: writes a study to one file, which `report` and `dashboard` read. Never loads the engine. */

import { Command } from "commander";
import { UsageError } from "../errors.js";
import { checkFile } from "./writable-place.js";

type Write = (text: string) => void;

interface PackFlags {
  out: string;
  metrics?: string;
  finished?: true;
  anonymous?: true;
  json?: true;
}

/** The command. `write` receives its output. */
export function packCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("pack")
    .description(
      "Packs the runs of a sweep, or a folder of runs, into one compressed file. It contains settings, records, times, environments, assessments and the plan of the sweep, but no models, checkpoints or logs. nudge report and nudge dashboard read the file; nudge unpack and tar xzf restore the folders. Several sources are combined into one study: a run that several of them contain is packed once.",
    )
    .argument("<sources...>", "folders of sweeps or runs, or packs whose runs are added")
    .requiredOption("--out <file>", "the file to write, such as study.nudge; an existing file is replaced")
    .option("--metrics <names>", "pack only records of these metrics (comma-separated), such as accuracy,loss")
    .option("--finished", "pack only finished runs")
    .option(
      "--anonymous",
      "remove what identifies the machine: paths, host names, devices and thread counts of the plan, and the output of failed runs",
    )
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge pack sweeps/table1 --out table1.nudge
  nudge pack sweeps/table1 --out table1.nudge --finished --anonymous --metrics accuracy
  nudge pack sweeps/table1 table1.nudge --out table1.nudge    add the new runs`,
    )
    .action(async (sources: string[], flags: PackFlags) => {
      const { isPackName, PACK_ENDING } = await import("../pack/pack-file.js");
      if (!isPackName(flags.out))
        throw new UsageError(
          `--out ${flags.out}: the name of a pack must end in ${PACK_ENDING}, so that packs are recognized in folders`,
        );
      checkFile(flags.out);
      const { packStudy } = await import("../pack/pack-study.js");
      const metrics = flags.metrics?.split(",").map((name) => name.trim());
      const { finished, anonymous } = flags;
      const packed = packStudy(sources, flags.out, { metrics, finished, anonymous });
      for (const note of packed.notes) process.stderr.write(`nudge: ${note}\n`);
      if (packed.notes.length > 0) process.exitCode = 1;
      const { runs, unfinished, bytes } = packed;
      const open = unfinished > 0 ? `, ${unfinished} of them not finished` : "";
      const size = bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
      write(
        flags.json
          ? `${JSON.stringify({ out: flags.out, ...packed })}\n`
          : `packed ${runs} ${runs === 1 ? "run" : "runs"}${open} into ${flags.out}: ${size}\n`,
      );
    });
}
