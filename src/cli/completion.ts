/** `nudge completion bash|zsh|fish`: prints a script that completes verbs, options and names. */

import { Command } from "commander";
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";

/** The supported shells. */
const shells = ["bash", "zsh", "fish"] as const;

/** The command. `program` returns the whole program, whose options are completed. */
export function completionCommand(program: () => Promise<Command>): Command {
  return new Command("completion")
    .description(
      "Prints a script that completes verbs, options and the names of algorithms, datasets and so on in a shell. Source the script, or save it in a folder where the shell looks for completions.",
    )
    .argument("<shell>", shells.join(", "))
    .addHelpText(
      "after",
      `
Examples:
  source <(nudge completion bash)                                this shell; for zsh after compinit
  nudge completion bash > ~/.local/share/bash-completion/completions/nudge
  nudge completion zsh > ~/.zfunc/_nudge                         a folder of your fpath
  nudge completion fish > ~/.config/fish/completions/nudge.fish`,
    )
    .action(async (shell: string) => {
      const [{ completionModel }, { bashScript, zshScript, fishScript }] = await Promise.all([
        import("./completion-model.js"),
        import("./completion-scripts.js"),
      ]);
      const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
      const known = shells.find((name) => name === shell);
      if (known === undefined) throw new UsageError(unknownName("shell", shell, shells));
      process.stdout.write(scripts[known](await completionModel(await program())));
    });
}
