#!/usr/bin/env node
/** The `nudge` command: starts what src/cli/main.ts was compiled to. */
import { existsSync } from "node:fs";

// The reader of a pipe may leave early, as in `nudge … | head`: that is no failure.
process.stdout.on("error", (error) => {
  if ("code" in error && error.code === "EPIPE") process.exit(0);
  process.stderr.write(`nudge: the output could not be written: ${error.message}\n`);
  process.exit(1);
});

const program = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(program)) {
  const { main } = await import(program.href).catch(refuseOrThrow);
  const { cleanOutput } = await import(new URL("clean-output.js", program).href);
  const args = process.argv.slice(2);
  cleanOutput([process.stdout, process.stderr], args);
  process.exitCode = await main(args);
} else {
  process.stderr.write("nudge: it has not been built yet. Try: npm run setup\n");
  process.exitCode = 1;
}

/** Node opens many of the program's files at once. @param {unknown} error @returns {never} */
function refuseOrThrow(error) {
  if (!(error instanceof Error && "code" in error && ["EMFILE", "ENFILE"].includes(String(error.code)))) throw error;
  process.stderr.write(
    `nudge: too many files are open: raise the limit, such as with \`ulimit -n 1024\` (${error.message})\n`,
  );
  process.exit(1);
}
