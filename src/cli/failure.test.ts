import { statSync } from "node:fs";
import { CommanderError } from "commander";
import { expect, test } from "vitest";
import { DataError, EngineError, UsageError } from "../errors.js";
import { endOf } from "./failure.js";

test("what the user can mend is printed without a stack", () => {
  expect(endOf(new UsageError("unknown verb"))).toEqual({ text: "nudge: unknown verb", code: 2 });
  expect(endOf(new DataError("a.pth: torn"))).toEqual({ text: "nudge: a.pth: torn", code: 1 });
  expect(endOf(new EngineError("not built", "load"))).toEqual({ text: "nudge: not built", code: 1 });
});

test("the system's refusal is printed without a stack, and nothing else of the system's is", () => {
  const system = (code: string) => Object.assign(new Error(`${code}: words`), { code, syscall: "write" });
  expect(endOf(system("ENOSPC"))).toEqual({ text: "nudge: ENOSPC: words", code: 1 });
  expect(endOf(system("EBADF"))).toEqual({ text: expect.stringMatching(/failure\.test\.ts/), code: 1 });
});

test("a NUL in a path is named without a stack", () => {
  const refused = (() => {
    try {
      statSync("a\0b");
    } catch (error) {
      return error;
    }
  })();
  const text = "nudge: a path has a NUL character in it, so there is no such file: 'a\\x00b'";
  expect(endOf(refused)).toEqual({ text, code: 2 });
});

test("a computation that failed and a fault of ours show where", () => {
  for (const error of [new EngineError("sizes differ", "aten::matmul"), new TypeError("x is undefined")]) {
    expect(endOf(error)).toEqual({ text: expect.stringMatching(/failure\.test\.ts/), code: 1 });
  }
  expect(endOf("thrown")).toEqual({ text: "thrown", code: 1 });
});

test("help ends well, a wrong option is a usage error; commander has printed both", () => {
  expect(endOf(new CommanderError(0, "commander.helpDisplayed", ""))).toEqual({ text: "", code: 0 });
  expect(endOf(new CommanderError(1, "commander.unknownOption", ""))).toEqual({ text: "", code: 2 });
});

test("a lack of memory is reported without a stack, with what needs less", () => {
  for (const message of [
    "zeros(): out of memory: 9.2 GB asked for, 0.0 GB in use, 8.0 GB allowed",
    "conv2d(): CUDA out of memory. Tried to allocate 2.00 GiB",
    "empty(): [enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes",
  ]) {
    const { text, code } = endOf(new EngineError(message, "aten::zeros"));
    expect({ text, code }).toEqual({
      text: `nudge: ${message}\nUse a smaller batchSize, smaller pictures or a smaller backbone.`,
      code: 1,
    });
  }
});
