/** `nudge dashboard`: a local web page that shows folders of runs. It only reads files and never loads the engine. */

import { Command } from "commander";
import { portNumber } from "./parse-options.js";
import { sayNext, socketOption } from "./server-options.js";
import { untilStopped } from "./stop-signals.js";

interface DashboardFlags {
  port?: number;
  socket?: string;
  token: boolean;
  data?: string[];
  json: boolean;
}

/** The command. `write` receives its output. */
export function dashboardCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  return new Command("dashboard")
    .description(
      "Serves a web page for a browser on this machine. It shows the runs in folders, sweeps and packed studies: runs while they train, training curves side by side, tables for each selection method, the grid of a sweep, and the toy task. It changes nothing on disk and needs no network. Press Ctrl-C to stop it.",
    )
    .argument(
      "<dirs...>",
      "folders of runs or sweeps (searched up to four levels deep), a run folder, or packed studies",
    )
    .option(
      "--data <dirs...>",
      "more folders of pictures to show mistakes from (default: those below <dirs>, and those that you trained on here)",
    )
    .option(
      "--port <n>",
      "the port to listen on; 0 selects any free port (default: 4747, or the next free port)",
      portNumber("--port"),
    )
    .addOption(socketOption())
    .option("--no-token", "let every user of this machine open the page, without the token in the printed address")
    .option("--json", "print the address as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge dashboard runs                   watch what nudge train writes to runs/
  nudge dashboard sweeps/pacs --port 8080
  nudge dashboard results/*.nudge        packed studies
  nudge dashboard runs --data /data/shop   runs from elsewhere, whose pictures are here
Open the printed address. Its token works once, and keeps out other users of
this machine; the browser gets a cookie.
From another machine: ssh -L 4747:127.0.0.1:4747 HOST,
then open the printed address on your own machine. Or use a socket:
  nudge dashboard runs --socket ~/dashboard.sock     on HOST
  ssh -L 4747:/home/you/dashboard.sock HOST          then open http://127.0.0.1:4747/`,
    )
    .action(async (folder: readonly string[], options: DashboardFlags) => {
      const { startDashboard } = await import("../dashboard/server.js");
      const dashboard = await startDashboard({
        ...{ folder, dataRoots: options.data, port: options.port, socket: options.socket },
        ...(options.token && { access: {}, onOpened: sayNext }),
      });
      const { address: url } = dashboard;
      write(
        options.json
          ? `${JSON.stringify({ url, folder: folder.join(", ") })}\n`
          : `watching ${folder.join(", ")}: open ${url} (press Ctrl-C to stop)\n`,
      );
      await untilStopped();
      await dashboard.close();
    });
}
