/** `nudge serve`: serves a trained model over HTTP, for programs and people on this machine. */

import { Command } from "commander";
import { type ModelFlags, openModel, unknownOption, type Write, withModelOptions } from "./model-options.js";
import { portNumber, wholeNumber } from "./parse-options.js";
import { bearerToken, sayNext, socketOption, TOKEN_VARIABLE } from "./server-options.js";
import { untilStopped } from "./stop-signals.js";

interface ServeFlags extends ModelFlags {
  port?: number;
  maxBytes: number;
  unknown: number;
  socket?: string;
  tokenFile?: string;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge serve runs/latest
  curl --data-binary @photo.jpg http://127.0.0.1:4848/predict
  curl --data-binary @photo.jpg 'http://127.0.0.1:4848/predict?top=3'
On a machine with other users, who could use the model too:
  umask 077; echo "Authorization: Bearer $(openssl rand -hex 16)" > token
  nudge serve runs/latest --token-file token
  curl -H @token --data-binary @photo.jpg http://127.0.0.1:4848/predict
or a socket, which only you can connect to:
  nudge serve runs/latest --socket ~/model.sock
  curl --unix-socket ~/model.sock --data-binary @photo.jpg http://localhost/predict

POST the bytes of a picture to /predict. The response is the same JSON as a line
of nudge predict --json, or status 422 with the problem if the picture cannot be
read. Pictures that arrive at the same time share batches. GET / is a page for
trying the model, /model describes it, and /health and /metrics (Prometheus) are
for monitoring. If too many pictures are waiting, the response is status 503:
retry after a second. The server listens on this machine only and rejects
requests from other web sites. From another machine, use ssh -L
4848:127.0.0.1:4848 HOST, or a reverse proxy that sets the Host header to
127.0.0.1:4848.`;

/** The command. `write` receives its output. */
export function serveCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return withModelOptions(
    new Command("serve")
      .description(
        "Serves a model over HTTP on this machine: POST a picture to get its class as JSON, or open the page and drop pictures on it. Press Ctrl-C to stop it.",
      )
      .argument("<model>", "a model file, or the folder of a run")
      .option(
        "--port <n>",
        "the port to listen on; 0 selects any free port (default: 4848, or the next free port)",
        portNumber("--port"),
      )
      .addOption(socketOption())
      .option(
        "--token-file <file>",
        `answer only requests with the token in this file, which only you may be able to read; it can be a header for curl -H @FILE (default: $${TOKEN_VARIABLE}, if it is set)`,
      )
      .option("--max-bytes <n>", "the largest accepted picture, in bytes", wholeNumber("--max-bytes", 1), 32 << 20)
      .addOption(unknownOption())
      .option("--json", "print the address as JSON"),
  )
    .addHelpText("after", EXAMPLES)
    .action(async (path: string, flags: ServeFlags) => {
      using model = await openModel(path, flags);
      const { startServe } = await import("../serve/server.js");
      const { port, socket, maxBytes: mostBytes, unknown, batchSize } = flags;
      const bearer = bearerToken(flags.tokenFile);
      const access = bearer === undefined ? undefined : { bearer };
      const server = await startServe({
        ...{ model, port, socket, mostBytes, unknown, batchSize },
        ...{ access, onOpened: sayNext },
      });
      const { address: url } = server;
      write(
        flags.json
          ? `${JSON.stringify({ url, model: model.path })}\n`
          : `serving ${path}: open ${url} (press Ctrl-C to stop)\n`,
      );
      await untilStopped();
      await server.close();
    });
}
