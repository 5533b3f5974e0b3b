import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openWeights } from "./open-weights.js";

const vectors = fileURLToPath(new URL("../../tests/vectors/", import.meta.url));

test("the tensors of a TorchScript program are read under the names that state_dict() gives them", () => {
  using script = openWeights(`${vectors}transformers/clip-openai.pt`);
  using state = openWeights(`${vectors}transformers/clip-open-clip.pth`);
  const shapes = (file: typeof script) => [...file.tensors].map(([name, { shape }]) => `${name} ${shape}`).sort();
  expect(shapes(script)).toEqual(shapes(state));
  expect(script.tensors.get("visual.proj")?.dtype).toBe("float16");
  expect(script.metadata).toEqual({ format: "torchscript" });
});
