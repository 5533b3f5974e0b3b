/** `nudge dashboard`: a local page over a folder of runs. It reads only, and never loads the engine. */

import { Command } from "commander";
import { portNumber } from "./parse-options.js";
import { untilStopped } from "./stop-signals.js";

/** The command; `write` takes what it prints. */
export function dashboardCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  return new Command("dashboard")
    .description(
      "Serves a page over folders of runs and sweeps, and over packed studies, to a browser on this machine: runs as they train, curves side by side, tables under each selection rule, the grid of a sweep, the toy task. It changes nothing on disk and needs no network; end it with Ctrl-C.",
    )
    .argument("<dirs...>", "folders of runs or sweeps, up to four levels deep, one run's, or packed studies")
    .option(
      "--port <n>",
      "the port to listen on; 0 for any that is free (default: 4747, or the next that is free)",
      portNumber("--port"),
    )
    .option("--json", "print the address as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge dashboard runs                   watch what nudge train writes to runs/
  nudge dashboard sweeps/pacs --port 8080
  nudge dashboard results/*.nudge        packed studies
From another machine: ssh -L 4747:127.0.0.1:4747 HOST, then open http://127.0.0.1:4747/ at home.`,
    )
    .action(async (folder: readonly string[], options: { port?: number; json: boolean }) => {
      const { startDashboard } = await import("../dashboard/server.js");
      const dashboard = await startDashboard({ folder, port: options.port });
      const { url } = dashboard;
      write(
        options.json
          ? `${JSON.stringify({ url, folder: folder.join(", ") })}\n`
          : `watching ${folder.join(", ")}: open ${url} (Ctrl-C ends it)\n`,
      );
      await untilStopped();
      await dashboard.close();
    });
}
