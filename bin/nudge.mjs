#!/usr/bin/env node
/** The `nudge` command: starts what src/cli/main.ts was compiled to. */
import { existsSync } from "node:fs";

// The reader of a pipe may leave early, as in `nudge … | head`: that is no failure.
process.stdout.on("error", (error) => {
  if ("code" in error && error.code === "EPIPE") process.exit(0);
  throw error;
});

const program = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(program)) {
  const { main } = await import(program.href);
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.stderr.write("nudge: it has not been built yet. Try: npm run setup\n");
  process.exitCode = 1;
}
