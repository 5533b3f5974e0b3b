/** Tests loading the addon in separate processes: the environment of the OpenMP library, and a missing addon. */

import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { nudgeWords } from "../../tests/support/start-nudge.js";

function nudge(args: readonly string[], env: Record<string, string>) {
  const [node, ...words] = nudgeWords;
  return spawnSync(node, [...words, ...args], { encoding: "utf8", env: { ...process.env, ...env } });
}

/** Returns the spin count that libgomp reports, or undefined for another OpenMP library without this setting. */
function spinsWith(env: Record<string, string>): string | undefined {
  const { stderr } = nudge(["doctor"], { ...env, OMP_DISPLAY_ENV: "verbose" });
  return /GOMP_SPINCOUNT = '(\w+)'/.exec(stderr)?.[1];
}

test("threads that wait sleep soon, unless the user said how they wait", (context) => {
  const spins = spinsWith({});
  if (spins === undefined) return context.skip("this libtorch does not use libgomp");
  expect(spins).toBe("2000");
  expect(spinsWith({ OMP_WAIT_POLICY: "active" })).not.toBe("2000");
});

test("an addon named by $NUDGE_ADDON that is missing is an error, and is not built", () => {
  const { status, stderr } = nudge(["bench", "ops"], { NUDGE_ADDON: "/nowhere/nudge.node" });
  expect(stderr).toBe("nudge: the engine has not been built: /nowhere/nudge.node is missing. Try: npx nudge setup\n");
  expect(status).toBe(1);
});
