/**
 * The algorithms of DomainBed against parity files (docs/porting.md): parity_domainbed, recorded from its own classes, and
 * parity_formulas, computed independently, with penalties and switches.
 */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { devices, liveTensors } from "../../src/engine/device.js";
import { readParityFile } from "../../src/porting/parity-file.js";
import { replayCase } from "../../src/porting/replay.js";

const files = ["domainbed", "formulas"].map((name) =>
  readParityFile(fileURLToPath(new URL(`../vectors/parity_${name}.safetensors`, import.meta.url))),
);
const all = files.flatMap((file) => Object.keys(file.cases).map((name) => ({ name, file })));

test.each(all)("$name: one update and five updates equal the reference to 1e-9 in float64", ({ name, file }) => {
  const before = liveTensors();
  const { states, logs, predictions } = replayCase(file, name);
  expect(states.map(({ updates }) => updates)).toEqual([1, 5]);
  for (const { relative, largest, worst } of states) {
    expect(relative, worst).toBeLessThan(1e-9);
    expect(largest, worst).toBeLessThan(1e-10);
  }
  if (logs) expect(logs.largest, logs.worst).toBeLessThan(1e-9);
  expect(predictions).toBeLessThan(1e-9);
  expect(liveTensors()).toBe(before);
});

for (const device of devices()) {
  test.each(all)(`$name: in float32 on ${device}, the updates are within 1e-3 of their norm`, ({ name, file }) => {
    const { states } = replayCase(file, name, { dtype: "float32", device });
    for (const { relative, worst } of states) expect(relative, worst).toBeLessThan(1e-3);
  });
}
