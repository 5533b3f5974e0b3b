// Runs a TypeScript file in this process, as vitest would load it: `node run-typescript.mjs file.ts [arguments]`.
import { runnerImport } from "vite";

const [file] = process.argv.slice(2);
// No settings file: the target lowers `using`, which Node 20 does not know.
await runnerImport(file, { configFile: false, logLevel: "error", oxc: { target: "es2022" } });
