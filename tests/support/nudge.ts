/** The command line in a process of its own, from the sources: `run-typescript.mjs nudge.ts train --data …`. */
import { main } from "../../src/cli/main.js";

process.exitCode = await main(process.argv.slice(3));
