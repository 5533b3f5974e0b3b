/** Loads plug-ins one after the other and prints what became of each, as JSON: `run-typescript.mjs load-plugins.ts FILE…`. */
import { loadPlugins } from "../../src/cli/plugins.js";

const answers: string[] = [];
for (const file of process.argv.slice(3)) {
  try {
    await loadPlugins([file]);
    answers.push("loaded");
  } catch (error) {
    answers.push(String(error));
  }
}
process.stdout.write(JSON.stringify(answers));
