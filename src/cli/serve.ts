/** `nudge serve`: a trained model behind HTTP, for programs and people on this machine. */

import { Command } from "commander";
import { UNKNOWN_SHARE } from "../model/unknown.js";
import { type ModelFlags, openModel, type Write, withModelOptions } from "./model-options.js";
import { portNumber, shareOfPictures, wholeNumber } from "./parse-options.js";
import { untilStopped } from "./stop-signals.js";

interface ServeFlags extends ModelFlags {
  port?: number;
  maxBytes: number;
  unknown: number;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge serve runs/latest
  curl --data-binary @photo.jpg http://127.0.0.1:4848/predict
  curl --data-binary @photo.jpg 'http://127.0.0.1:4848/predict?top=3'

POST a picture's bytes to /predict; the answer is JSON as a line of nudge predict
--json has it, or 422 with the problem of a picture that cannot be read. Pictures
that come at once share batches. GET / is a page to drop pictures on, /model the
model's facts, /health and /metrics (Prometheus) are for monitoring. When too many
pictures wait, the answer is 503: try again after a second.
It listens on this machine only and refuses requests of other sites' pages. From
another machine: ssh -L 4848:127.0.0.1:4848 HOST, or a reverse proxy that sets the
Host header to 127.0.0.1:4848.`;

/** The command; `write` takes what it prints. */
export function serveCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return withModelOptions(
    new Command("serve")
      .description(
        "Serves a model over HTTP on this machine: POST a picture and get its class as JSON, or open the page and drop pictures on it. End it with Ctrl-C.",
      )
      .argument("<model>", "a model file, or the folder of a run")
      .option(
        "--port <n>",
        "the port to listen on; 0 for any that is free (default: 4848, or the next that is free)",
        portNumber("--port"),
      )
      .option("--max-bytes <n>", "the largest picture in bytes", wholeNumber("--max-bytes", 1), 32 << 20)
      .option(
        "--unknown <share>",
        "mark pictures as unknown by limits that this share of known pictures exceed; 0 marks none",
        shareOfPictures("--unknown"),
        UNKNOWN_SHARE,
      )
      .option("--json", "print the address as JSON"),
  )
    .addHelpText("after", EXAMPLES)
    .action(async (path: string, flags: ServeFlags) => {
      using model = await openModel(path, flags);
      const { startServe } = await import("../serve/server.js");
      const { port, maxBytes: mostBytes, unknown, batchSize } = flags;
      const server = await startServe({ model, port, mostBytes, unknown, batchSize });
      const { url } = server;
      write(
        flags.json
          ? `${JSON.stringify({ url, model: model.path })}\n`
          : `serving ${path}: open ${url} (Ctrl-C ends it)\n`,
      );
      await untilStopped();
      await server.close();
    });
}
