/** Yes-or-no questions on a terminal, and the check whether a person can answer them. */

import { createInterface } from "node:readline";
import { downloadsAllowed, downloadsForbidden } from "../download/permission.js";

/** Whether stdin and stderr are terminals, so that a person can answer. */
export const isTerminal = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Asks on stderr, so that stdout contains only the result of the command. Enter means yes; the end of input means no. */
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

/**
 * Whether a download may start. `--yes` and NUDGE_DOWNLOAD allow it, NUDGE_NO_DOWNLOAD forbids it, and otherwise the
 * user is asked on a terminal.
 */
export async function mayDownload(yes: boolean | undefined, question: string, about: string): Promise<boolean> {
  if (downloadsForbidden()) return false;
  if (yes || downloadsAllowed()) return true;
  if (!isTerminal()) return false;
  process.stderr.write(about);
  return await askYesNo(question);
}
