import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { DataError } from "../errors.js";
import { liveTensors } from "./device.js";
import { zeros } from "./ops.generated.js";
import { writeSafetensors } from "./safetensors.js";
import { scope } from "./scope.js";
import { tensor } from "./tensor.js";
import { readWeights, writeWeights } from "./weights.js";

const vectors = (name: string) => fileURLToPath(new URL(`../../tests/vectors/pth/${name}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-weights-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Expected {
  dtype: string;
  shape: number[];
  values: number[];
}
const expected: Record<string, Expected> = JSON.parse(readFileSync(vectors("expected.json"), "utf8"));

test.each(["zip.pth", "legacy.pth"])("%s is read as PyTorch reads it: dtypes, views, shared storages", (name) => {
  scope(() => {
    const tensors = readWeights(vectors(name));
    expect([...tensors.keys()]).toEqual(Object.keys(expected));
    for (const [key, { dtype, shape, values }] of Object.entries(expected)) {
      const found = tensors.get(key)!;
      expect({ key, dtype: found.dtype, shape: found.shape }).toEqual({ key, dtype, shape });
      // JavaScript has no complex numbers; their bytes are pairs of float32.
      const numbers = dtype === "complex64" ? [...new Float32Array(found.bytes().buffer)] : found.toNumbers();
      expect({ key, numbers }).toEqual({ key, numbers: values });
    }
    const [base, row] = [tensors.get("base")!, tensors.get("row")!];
    base.zero_();
    expect(row.toNumbers()).toEqual(expected.row.values); // its own memory, although the storage is shared in the file
  });
});

test("what is written is read again, in row-major order, with its metadata", () => {
  scope(() => {
    const path = join(folder, "written.safetensors");
    const picture = tensor([1, 2, 3, 4, 5, 6, 7, 8]).view(1, 2, 2, 2).to({ memoryFormat: "channels_last" });
    const tensors = new Map([
      ["picture", picture],
      ["half", tensor([0.5, -2]).toDType("bfloat16").requiresGrad_()],
      ["count", tensor(3, { dtype: "int64" })],
      ["none", zeros([0, 4])],
      ["flags", tensor([true, false])],
    ]);
    writeWeights(path, tensors, { nudge: "{}" });
    const read = readWeights(path);
    expect(new Set(read.keys())).toEqual(new Set(tensors.keys()));
    for (const [name, { dtype, shape }] of tensors) {
      expect(read.get(name)!.dtype).toBe(dtype);
      expect(read.get(name)!.shape).toEqual(shape);
      expect(read.get(name)!.toNumbers()).toEqual(tensors.get(name)!.toNumbers());
    }
    expect(readFileSync(path, "latin1")).toContain('"nudge":"{}"}');
    writeWeights(path, tensors, { nudge: "{}" }, { checksums: false });
    expect(readFileSync(path, "latin1")).toContain('"__metadata__":{"nudge":"{}"}');
  });
});

test("a dtype that this libtorch lacks is an error that contains the tensor's name, and frees what was read", () => {
  scope(() => {
    const path = join(folder, "new-dtype.safetensors");
    const bytes = () => new Uint8Array(2);
    writeSafetensors(path, [
      { name: "a", dtype: "uint8", shape: [2], bytes },
      { name: "b", dtype: "float8_e4m3fn", shape: [2], bytes },
    ]);
    const before = liveTensors();
    const read = () => readWeights(path);
    // libtorch 2.1 and later have it.
    try {
      expect(read().get("b")!.dtype).toBe("float8_e4m3fn");
    } catch (error) {
      expect(error).toBeInstanceOf(DataError);
      expect(String(error)).toMatch(/new-dtype\.safetensors: tensor "b", float8_e4m3fn\[2\], .* no float8_e4m3fn/);
      expect(liveTensors()).toBe(before);
    }
  });
});

test("tensors belong to the scope around the call", () => {
  const before = liveTensors();
  scope(() => {
    readWeights(vectors("zip.pth"));
    expect(liveTensors()).toBe(before + Object.keys(expected).length);
  });
  expect(liveTensors()).toBe(before);
});
