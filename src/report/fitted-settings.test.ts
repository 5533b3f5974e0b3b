import { expect, test } from "vitest";
import { sharedHparams } from "../algorithms/shared-hparams.js";
import { declared } from "../declared-settings/declared.js";
import type { Options } from "../options.js";
import { regularizers } from "../regularizers/index.js";
import { FITTED } from "./fitted-settings.js";

test("the settings that the program chooses are those whose declarations say so, in that order", () => {
  const owners: readonly Options[] = [
    declared,
    { ...sharedHparams({ dataset: "", size: "large" }) },
    ...Object.values(regularizers).map(({ settings }): Options => settings),
  ];
  const ranks = owners.flatMap((owner) =>
    Object.entries(owner).flatMap(([name, { chosen }]) => (chosen ? [[name, chosen] as const] : [])),
  );
  const inOrder = ranks.sort(([, a], [, b]) => a - b).map(([name]) => name);
  expect([...new Set(inOrder)]).toEqual(FITTED);
});
