import { mkdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { dict, pickle, safetensors, temporaryFiles, zip } from "../../tests/assemble-files.js";
import { DataError } from "../errors.js";
import { openWeights } from "./open-weights.js";
import { openPth } from "./pth.js";

const vectors = new URL("../../tests/vectors/", import.meta.url).pathname;
const file = temporaryFiles();

test.each(["pth/zip.pth", "pth/legacy.pth", "pth/legacy-protocol-1.pth", "safetensors/all-dtypes.safetensors"])(
  "%s is opened by its contents",
  (name) => {
    const opened = openWeights(vectors + name);
    expect(opened.tensors.size).toBeGreaterThan(1);
    opened.close();
  },
);

test("the extension of a file does not determine its format", () => {
  const opened = openWeights(file(safetensors({}), "model.pth"));
  expect(opened.tensors.size).toBe(0);
  opened.close();
});

test.each<[string, string | Uint8Array, RegExp]>([
  ["an empty file", "", /found an empty file/],
  ["a web page", "\n<!DOCTYPE html><html>", /web page.*download the file itself/],
  ["a web page without a doctype", "\ufeff<html lang=en>", /web page/],
  ["a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", /Git LFS pointer.*git lfs pull/],
  ["JSON", '{"weight_map": {}}', /JSON \(perhaps the index/],
  ["text", "not found", /text that begins "not found"/],
  ["a gzip archive", gzipSync("x"), /gzip archive; unpack it/],
  ["an HDF5 file", Buffer.from("\x89HDF\r\n\x1a\n\0", "latin1"), /HDF5/],
  ["a GGUF file", "GGUF\x03\0\0\0\0", /GGUF/],
  ["a tar archive", Buffer.concat([Buffer.alloc(257), Buffer.from("ustar")]), /tar archive/],
  ["anything else", Buffer.from([1, 2, 3, 250]), /begins with the bytes 01 02 03 fa/],
])("%s is called what it is", (_, bytes, message) => {
  const path = file(bytes);
  expect(() => openWeights(path)).toThrow(DataError);
  expect(() => openWeights(path)).toThrow(message);
  expect(() => openWeights(path)).toThrow(/expected weights \(safetensors, or a PyTorch state dict/);
  expect(() => openPth(path)).toThrow(message);
});

test("what only looks like a format gets that format's error", () => {
  expect(() => openWeights(file(zip([])))).toThrow(/expected a zip archive that torch\.save wrote/);
  expect(() => openWeights(file(pickle(dict({}))))).toThrow(/not one that torch\.save wrote/);
  expect(() => openWeights(file(safetensors("{!")))).toThrow(/safetensors header/);
  expect(() => openPth(file(safetensors({})))).toThrow(
    /expected a PyTorch state dict \(\.pth\), found a safetensors file/,
  );
});

test("a missing file and a folder are errors that name them", () => {
  const path = file("", "gone");
  expect(() => openWeights(`${path}-missing`)).toThrow(/gone-missing: could not be opened: there is no such file$/);
  mkdirSync(`${path}-folder`);
  expect(() => openWeights(`${path}-folder`)).toThrow(/gone-folder: expected a plain file, found a folder/);
  expect(() => openWeights(`${path}-folder`)).toThrow(DataError);
});
