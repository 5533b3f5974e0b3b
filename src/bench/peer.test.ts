import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Peer } from "./peer.js";

const place = mkdtempSync(join(tmpdir(), "nudge-peer-"));
afterAll(() => rmSync(place, { recursive: true }));

/** A peer that answers the greeting and then does `next`. A shell script stands in for Python with torch. */
async function peerThat(...next: string[]): Promise<Peer> {
  const program = join(place, "python");
  const lines = [
    "#!/bin/sh",
    `[ "$1" = -c ] && exit # import torch`,
    "read request",
    `echo '{"torch": "0", "python": "0"}'`,
    ...next,
  ];
  writeFileSync(program, lines.join("\n"), { mode: 0o755 });
  return (await Peer.start(program, 1)).peer;
}

test("a peer may print any amount to stderr before it answers", async () => {
  using peer = await peerThat("read request", "head -c 4000000 /dev/zero >&2", `echo '{"n": 1}'`);
  expect(await peer.ask({ do: "count" })).toEqual({ n: 1 });
});

test("a peer that ends is an error with the last that it printed, now and later", async () => {
  using peer = await peerThat("echo out of memory >&2", "exit 1");
  await expect(peer.ask({ do: "step" })).rejects.toThrow(/ended while asked to step; .*\nout of memory/);
  await expect(peer.ask({ do: "step" })).rejects.toThrow("ended while asked to step");
});
