/** Yes-or-no questions on a terminal, and who may be asked. */

import { createInterface } from "node:readline";
import { downloadsAllowed, downloadsForbidden } from "../download/permission.js";

/** Whether a person can answer. */
export const isTerminal = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Asks on stderr, so that what a command prints stays clean; Enter means yes, the end of input no. */
export function askYesNo(question: string): Promise<boolean> {
  const line = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    let answered = false;
    line.question(`${question} [Y/n] `, (answer) => {
      answered = true;
      line.close();
      resolve(/^\s*(y(es)?)?\s*$/i.test(answer));
    });
    line.on("SIGINT", () => line.close());
    line.on("close", () => {
      if (answered) return;
      process.stderr.write("\n");
      resolve(false);
    });
  });
}

/** Whether a download may begin: `--yes` and NUDGE_DOWNLOAD say so, NUDGE_NO_DOWNLOAD forbids it, a terminal is asked. */
export async function mayDownload(yes: boolean | undefined, question: string, about: string): Promise<boolean> {
  if (downloadsForbidden()) return false;
  if (yes || downloadsAllowed()) return true;
  if (!isTerminal()) return false;
  process.stderr.write(about);
  return await askYesNo(question);
}
