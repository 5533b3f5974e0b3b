/** The command line in a process of its own, from the sources, as bin/nudge.mjs starts it: `run-typescript.mjs nudge.ts train --data …`. */
import { cleanOutput } from "../../src/cli/clean-output.js";
import { main } from "../../src/cli/main.js";

const args = process.argv.slice(3);
cleanOutput([process.stdout, process.stderr], args);
process.exitCode = await main(args);
