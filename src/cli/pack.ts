/** `nudge pack`: a study in one file, which `report` and `dashboard` read. Never loads the engine. */

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

/** The command; `write` takes what it prints. */
export function packCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("pack")
    .description(
      "Packs the runs of a sweep, or a folder of runs, into one compressed file: settings, records, times, environments, assessments and the sweep's plan, without models, checkpoints and logs. nudge report and nudge dashboard read it; nudge unpack makes folders of it again, and so does tar xzf. Several sources are pieces of one study: a run that is in more than one is packed once.",
    )
    .argument("<sources...>", "the folder of a sweep or of runs, or a pack to add its runs")
    .requiredOption("--out <file>", "the file to write, such as study.nudge; a file that is there is replaced")
    .option("--metrics <names>", "only records of these metrics, with commas between them, such as accuracy,loss")
    .option("--finished", "only runs that are done")
    .option(
      "--anonymous",
      "without what names the machine: paths, host names, devices and thread counts of the plan, and what failed runs printed",
    )
    .option("--json", "print what was packed as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge pack sweeps/table1 --out table1.nudge
  nudge pack sweeps/table1 --out table1.nudge --finished --anonymous --metrics accuracy
  nudge pack sweeps/table1 table1.nudge --out table1.nudge    add the runs that are new`,
    )
    .action(async (sources: string[], flags: PackFlags) => {
      const { isPackName, PACK_ENDING } = await import("../pack/pack-file.js");
      if (!isPackName(flags.out))
        throw new UsageError(
          `--out ${flags.out}: the name of a pack ends in ${PACK_ENDING}, by which folders of packs are read`,
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
