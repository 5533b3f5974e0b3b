/** Names and shapes of every tensor, and the number of parameters, against torchvision's (tests/vectors/torchvision_shapes.py). */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { backboneNamed, backbones } from "../../src/backbones/index.js";

interface Network {
  readonly tensors: number;
  readonly parameters: number;
  readonly sha256: string;
}

const file = new URL("../vectors/torchvision-shapes.json", import.meta.url);
const { networks } = JSON.parse(readFileSync(file, "utf8")) as { networks: Record<string, Network> };

test.each(Object.entries(networks))("the tensors of %s have torchvision's names and shapes", (id, expected) => {
  using backbone = backboneNamed(id).build();
  const state = [...backbone.stateDict()];
  const lines = state.map(([name, { shape }]) => `${name} [${shape.join(", ")}]`).sort();
  expect(lines.length).toBe(expected.tensors);
  expect(createHash("sha256").update(lines.join("\n")).digest("hex")).toBe(expected.sha256);
  expect(backbone.parameters().reduce((sum, { numel }) => sum + numel, 0)).toBe(expected.parameters);
});

test("a definition states the correct width and number of parameters", () => {
  for (const { id, width, parameters, build } of Object.values(backbones).map((each) => backboneNamed(each.id))) {
    if (parameters === undefined) continue;
    using backbone = build();
    const count = backbone.parameters().reduce((sum, { numel }) => sum + numel, 0);
    expect({ id, width, parameters }).toEqual({ id, width: backbone.width, parameters: count });
  }
});
