/** The command that started this program, in a form that can be pasted into a terminal. */

import { basename, relative, resolve, sep } from "node:path";
import { shellWord } from "./shell-words.js";

interface Started {
  readonly argv: readonly string[];
  cwd(): string;
}

/** `nudge`, `npx nudge`, or `node path/to/bin/nudge.cjs`. */
export function typedCommand({ argv, cwd }: Started = process): string {
  const program = argv[1] ?? "";
  const isNudge = ["nudge", "nudge.cjs", "nudge.mjs"].includes(basename(program));
  if (!isNudge || !/\.[cm]js$|[/\\]\.bin[/\\]/.test(program)) return "nudge"; // a link on the PATH, or a program that uses this package
  if (program.split(sep).includes("node_modules")) return "npx nudge";
  const near = relative(cwd(), resolve(program));
  return `node ${shellWord(near.startsWith("..") ? program : near)}`;
}
