/** `nudge sweep plan` in this process, for the studies, which plan many parts into one folder. */
import { planCommand } from "../dist/cli/sweep-plan.js";

/** @typedef {{ asked: number, added: number, done: number }} Planned The numbers of runs: planned by these words, new among them, done before. */

/** Plans a part of a sweep. If that fails, so does the script. @param {readonly string[]} words @returns {Promise<Planned>} */
export async function planSweep(words) {
  let text = "";
  const command = planCommand((part) => {
    text += part;
  });
  await command.parseAsync([...words, "--no-measure", "--json"], { from: "user" }).catch((error) => {
    process.stderr.write(`nudge: ${error.message}\n`);
    process.exit(1);
  });
  return JSON.parse(text);
}

/** Plans parts one after the other, and adds up their numbers. Runs are executed in this order. @param {Iterable<readonly string[]>} parts @returns {Promise<Planned>} */
export async function planParts(parts) {
  const total = { asked: 0, added: 0, done: 0 };
  for (const words of parts) {
    const { asked, added, done } = await planSweep(words);
    total.asked += asked;
    total.added += added;
    total.done += done;
  }
  return total;
}
