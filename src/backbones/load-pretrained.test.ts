import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fillByFormula } from "../../tests/support/formula-weights.js";
import { full, zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { type Backbone, backboneNamed, loadPretrained } from "./index.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-load-"));
afterAll(() => rmSync(folder, { recursive: true }));

const make = (id: string, options = {}): Backbone => fillByFormula(backboneNamed(id).build(options));

/** Saves a modified copy of a backbone's state and returns its path. */
function saved(name: string, backbone: Backbone, change: (state: Map<string, Tensor>) => Map<string, Tensor>): string {
  const path = join(folder, name);
  writeWeights(path, change(new Map(backbone.stateDict())));
  return path;
}

const renamed = (state: Map<string, Tensor>, name: (key: string) => string) =>
  new Map([...state].map(([key, tensor]) => [name(key), tensor]));

function expectSame(loaded: Backbone, source: Backbone): void {
  const expected = source.stateDict();
  for (const [key, tensor] of loaded.stateDict())
    expect({ key, same: tensor.equal(expected.get(key)!) }).toEqual({ key, same: true });
}

test.each([
  ["torchvision's", (key: string) => key],
  ["DataParallel's", (key: string) => `module.${key}`],
  ["DomainBed's", (key: string) => `featurizer.${key}`],
  ["DomainBed's SagNet's", (key: string) => `network_f.${key}`],
  ["DomainBed's Fish's", (key: string) => `module.network.net.0.${key}`],
])("weights under %s names load, without the classification layer", (name, rename) => {
  scope(() => {
    using source = make("mnist-cnn");
    const path = saved(`${name}.safetensors`, source, (state) => {
      const file = renamed(state, rename);
      file.set(name === "DataParallel's" ? "module.fc.weight" : "classifier.weight", zeros([7, 128]));
      return file;
    });
    using loaded = backboneNamed("mnist-cnn").build().initialize(new Random(1));
    expectSame(loadPretrained(loaded, path), source);
  });
});

test("a file without counts of batches loads; one that lacks a mean does not", () => {
  scope(() => {
    using source = make("resnet18");
    const without = (end: string) => (state: Map<string, Tensor>) =>
      new Map([...state].filter(([key]) => !key.endsWith(end)));
    using loaded = backboneNamed("resnet18").build().initialize(new Random(1));
    expectSame(loadPretrained(loaded, saved("counts.safetensors", source, without("num_batches_tracked"))), source);
    const path = saved("means.safetensors", source, without("bn1.running_mean"));
    expect(() => loadPretrained(loaded, path)).toThrow(
      `from ${path} into ResNet: missing bn1.running_mean, layer1.0.bn1.running_mean, `,
    );
  });
});

test("more input channels repeat the three trained ones, and fewer take the first", () => {
  scope(() => {
    using source = make("mobilenet_v2");
    const trained = source.stateDict().get("features.0.0.weight")!;
    const path = saved("rgb.safetensors", source, (state) => state);
    for (const inputChannels of [1, 2, 5]) {
      using loaded = loadPretrained(backboneNamed("mobilenet_v2").build({ inputChannels }), path);
      const first = loaded.stateDict().get("features.0.0.weight")!;
      expect(first.shape).toEqual([32, inputChannels, 3, 3]);
      for (let i = 0; i < inputChannels; i++) expect(first.select(1, i).equal(trained.select(1, i % 3))).toBe(true);
    }
  });
});

test("folded batch norms are refused for training, and a new network's are not taken for folded", () => {
  scope(() => {
    using source = make("resnet18");
    const withVariance = (variance: number) => (state: Map<string, Tensor>) => {
      for (const [key, { shape }] of state) {
        if (/(bn\d|downsample\.1)\.weight$/.test(key)) state.set(key, full([...shape], 1));
        if (key.endsWith("running_mean")) state.set(key, zeros([...shape]));
        if (key.endsWith("running_var")) state.set(key, full([...shape], variance));
      }
      return state;
    };
    const folded = saved("folded.safetensors", source, withVariance(1 - 1e-5));
    using frozen = backboneNamed("resnet18").build();
    using trained = backboneNamed("resnet18").build({ batchNorm: "trained" });
    loadPretrained(frozen, folded);
    expect(() => loadPretrained(trained, folded)).toThrow(
      /folded into the convolutions .* so their statistics cannot be trained/,
    );
    loadPretrained(trained, saved("new.safetensors", source, withVariance(1)));
  });
});

test("the two ResNet-50s, whose names and shapes are equal, refuse the files of each other", () => {
  const file = (name: string, metadata: Record<string, string>): string => {
    const path = join(folder, `${name}.safetensors`);
    scope(() => writeWeights(path, new Map([["conv1.weight", zeros([1])]]), metadata));
    return path;
  };
  const unmarked = file("unmarked", {});
  const marked = file("marked", { backbone: "resnet50_v1" });
  const model = file("model", { nudge: JSON.stringify({ backbone: "resnet50_v1" }) });
  scope(() => {
    using usual = backboneNamed("resnet50").build();
    using original = backboneNamed("resnet50_v1").build();
    for (const path of [marked, model]) {
      expect(() => loadPretrained(usual, path)).toThrow(
        /they are those of resnet50_v1, .*: use the backbone resnet50_v1/,
      );
      expect(() => loadPretrained(original, path)).toThrow("missing");
    }
    expect(() => loadPretrained(original, unmarked)).toThrow("does not say that it is for resnet50_v1");
    expect(() => loadPretrained(usual, unmarked)).toThrow("missing");
  });
});
