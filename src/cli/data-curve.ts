/** `nudge data curve`: estimates the benefit of more pictures, by source and class. */

import { writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { Command } from "commander";
import { openFolderFeatures } from "./folder-features.js";
import { checkFile } from "./writable-place.js";

type Write = (text: string) => void;

interface CurveFlags {
  backbone?: string;
  weights?: string;
  device?: string;
  html?: string;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge data curve ./pictures
  nudge data curve ./pictures --html curve.html

Exact probes on frozen features are trained on an eighth, a quarter, a half and
all of the pictures, without one more source, and with a few labelled pictures
of a source taken as new; each is measured on sources that it was not trained
on.`;

/** The command. `write` receives its output. */
export function curveCommand(write: Write): Command {
  return new Command("curve")
    .summary("estimate what more pictures would bring")
    .description(
      "Measures learning curves on your own pictures, and estimates what more pictures would bring: of all kinds, of each class, of another source, and of the source on which the model is to be used.",
    )
    .argument("<dir>", "a folder of pictures, or a manifest")
    .option("--backbone <id>", "the network whose features are used")
    .option("--weights <file>", "its pretrained weights")
    .option("--device <device>", "cpu, cuda or cuda:1 (default: a GPU if there is one)")
    .option("--html <file>", "write a page with the tables and a chart")
    .option("--json", "print the curves as JSON")
    .addHelpText("after", EXAMPLES)
    .action((dir: string, flags: CurveFlags) => curve(dir, flags, write));
}

async function curve(dir: string, flags: CurveFlags, write: Write): Promise<void> {
  if (flags.html !== undefined) checkFile(flags.html, "--html");
  using opened = await openFolderFeatures(dir, flags, "data curve");
  const [{ learningCurve }, { curveHtml, curveText }] = await Promise.all([
    import("../own-data/learning-curve.js"),
    import("../report/curve-text.js"),
  ]);
  const { samples, plan, reporter } = opened;
  const found = learningCurve(samples, plan, { onProgress: (text) => reporter.progress?.(text) });
  if (flags.html !== undefined) writeFileSync(flags.html, curveHtml(found, basename(resolve(dir))));
  write(flags.json ? `${JSON.stringify(found, null, 2)}\n` : curveText(found));
  if (flags.html !== undefined && !flags.json) write(`page: ${flags.html}\n`);
}
