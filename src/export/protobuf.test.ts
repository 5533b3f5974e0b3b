import { expect, test } from "vitest";
import { Message } from "./protobuf.js";

const hex = (message: Message): string => Buffer.concat(message.parts()).toString("hex");

test("the examples of the format's own description come out as they stand there", () => {
  expect(hex(new Message().whole(1, 150))).toBe("089601");
  expect(hex(new Message().text(2, "testing"))).toBe("120774657374696e67");
  expect(hex(new Message().message(3, new Message().whole(1, 150)))).toBe("1a03089601");
  expect(hex(new Message().wholes(6, [3, 270, 86942]))).toBe("3206038e029ea705");
});

test("negative numbers take ten bytes, floats four, and an empty list none", () => {
  expect(hex(new Message().whole(1, -1))).toBe("08ffffffffffffffffff01");
  expect(hex(new Message().float(2, 1))).toBe("150000803f");
  expect(hex(new Message().wholes(1, []))).toBe("");
  expect(hex(new Message().whole(20, 7))).toBe("a00107"); // a field above 15 has a tag of two bytes
});

test("a message in a message counts all of its bytes", () => {
  const inner = new Message().bytes(1, new Uint8Array(200));
  expect(hex(new Message().message(1, inner)).slice(0, 12)).toBe("0acb010ac801");
});
