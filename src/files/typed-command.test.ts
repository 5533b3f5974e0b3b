import { expect, test } from "vitest";
import { typedCommand } from "./typed-command.js";

const typed = (program: string): string =>
  typedCommand({ argv: ["/usr/bin/node", program], cwd: () => "/home/me/pictures" });

test("commands are printed as this one was typed", () => {
  expect(typed("/usr/local/bin/nudge")).toBe("nudge");
  expect(typed("/home/me/pictures/node_modules/.bin/nudge")).toBe("npx nudge");
  expect(typed("/home/me/.npm/_npx/1/node_modules/nudge-dg/bin/nudge.mjs")).toBe("npx nudge");
  expect(typed("/home/me/pictures/bin/nudge.cjs")).toBe("node bin/nudge.cjs");
  expect(typed("/home/me/pictures/bin/nudge.mjs")).toBe("node bin/nudge.mjs");
  expect(typed("/opt/my tools/bin/nudge.mjs")).toBe("node '/opt/my tools/bin/nudge.mjs'");
  expect(typed("/home/me/pictures/node_modules/vitest/vitest.mjs")).toBe("nudge");
});
