/** Prints the commands, for use with any other scheduler. */

import { quoteWords } from "../../files/shell-words.js";
import { pluginWords, ruleWords } from "../work-words.js";
import { defineLauncher } from "./define-launcher.js";

export const print = defineLauncher({
  id: "print",
  about: "Prints one command per waiting run instead of starting it, for use with another scheduler.",
  options: {},
  async launch(context) {
    const { folder, program, rules, device } = context;
    const threads = context.threads(1);
    const waiting = context.waiting();
    for (const { id } of waiting.slice(0, context.most ?? waiting.length)) {
      const words = [
        ...program,
        "sweep",
        "run",
        folder,
        "--only",
        id,
        "--launcher",
        "local",
        "--jobs",
        "1",
        "--no-stay",
      ];
      if (device !== undefined) words.push("--device", device);
      words.push(...ruleWords({ ...rules, only: null }), "--threads", String(threads), ...pluginWords());
      context.print(quoteWords(words));
    }
    return "handed over";
  },
});
