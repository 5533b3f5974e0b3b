/** Files that torchvision and PyTorch write here and now, with random weights: they load and give torchvision's outputs. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BackboneOptions, backboneNamed, loadPretrained } from "../../src/backbones/index.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad } from "../../src/engine/tensor.js";
import { readWeights, writeWeights } from "../../src/engine/weights.js";
import { expectClose } from "../support/close.js";
import { formulaTensor } from "../support/formula-weights.js";

const SCRIPT = fileURLToPath(new URL("../vectors/torchvision_files.py", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-torchvision-"));
const SKIPPED = "skipped: no python3 here can import torchvision";

// Debian's torchvision belongs to Debian's Python, which need not be the first one on the path.
const python = ["/usr/bin/python3", "python3"].find(
  (command) => spawnSync(command, ["-c", "import torchvision"]).status === 0,
);

beforeAll(() => {
  if (python === undefined) return;
  const { status, stderr } = spawnSync(python, [SCRIPT, folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${python} ${SCRIPT} failed:\n${stderr}`);
}, 120_000); // also on a busy machine
afterAll(() => rmSync(folder, { recursive: true }));

/** Loads a file, runs it, and compares with what torchvision gave. */
function check(id: string, file: string, { output = id, channels = 3, options = {} as BackboneOptions } = {}): void {
  scope(() => {
    using backbone = loadPretrained(
      backboneNamed(id).build({ inputChannels: channels, ...options }),
      join(folder, file),
    );
    const features = noGrad(() => backbone.forward(formulaTensor("x", [2, channels, 96, 96])));
    const expected = readWeights(join(folder, "outputs.safetensors")).get(output)!;
    expectClose(features, expected, { rtol: 1e-4, atol: 1e-4 });
    expect(expected.abs().mean().item()).toBeGreaterThan(0.1); // so 1e-4 is not granted to nothing
  });
}

for (const id of ["resnet18", "resnet50"]) {
  for (const format of ["zip", "legacy"]) {
    test(`torchvision's ${id} in the ${format} format gives torchvision's features`, ({ skip }) => {
      skip(python === undefined, SKIPPED);
      check(id, `${id}-${format}.pth`);
    });
  }
}

test("the same weights give the same features unfolded, and in evaluation mode with trained batch norm", ({ skip }) => {
  skip(python === undefined, SKIPPED);
  check("resnet18", "resnet18-zip.pth", { options: { foldBatchNorm: false } });
  scope(() => {
    using backbone = backboneNamed("resnet18").build({ batchNorm: "trained" });
    loadPretrained(backbone, join(folder, "resnet18-zip.pth")).eval();
    const features = noGrad(() => backbone.forward(formulaTensor("x", [2, 3, 96, 96])));
    expectClose(features, readWeights(join(folder, "outputs.safetensors")).get("resnet18")!, {
      rtol: 1e-4,
      atol: 1e-4,
    });
  });
});

test("a DomainBed checkpoint and a DataParallel checkpoint load under their own names", ({ skip }) => {
  skip(python === undefined, SKIPPED);
  check("resnet18", "domainbed.pkl");
  check("resnet18", "data-parallel.pth");
});

test("with four input channels, channel i of the first convolution starts as channel i mod 3", ({ skip }) => {
  skip(python === undefined, SKIPPED);
  check("resnet18", "resnet18-zip.pth", { output: "resnet18-4-channels", channels: 4 });
});

test("the network is the same after writing and reading safetensors", ({ skip }) => {
  skip(python === undefined, SKIPPED);
  scope(() => {
    using backbone = loadPretrained(backboneNamed("resnet18").build(), join(folder, "resnet18-zip.pth"));
    writeWeights(join(folder, "resnet18.safetensors"), backbone.stateDict());
  });
  check("resnet18", "resnet18.safetensors");
});

test("a file of another network is refused with one error that names the file and the problem", ({ skip }) => {
  skip(python === undefined, SKIPPED);
  const path = join(folder, "resnet18-zip.pth");
  using backbone = backboneNamed("resnet50").build();
  const load = () => loadPretrained(backbone, path);
  expect(load).toThrow(`loading weights from ${path} into ResNet: missing layer1.0.conv3.weight, `);
  expect(load).toThrow("wrong shape of layer1.0.conv1.weight: expected [64, 64, 1, 1], got [64, 64, 3, 3], ");
});
