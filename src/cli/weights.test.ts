/** The weights in these tests are a few bytes on a server of this machine; the list of published weights is replaced. */

import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { writePictures } from "../../tests/support/picture-folder.js";
import { catchPrinted } from "../../tests/support/printed.js";
import { main } from "./main.js";

const BYTES = Buffer.from("not really weights");
const sha256 = createHash("sha256").update(BYTES).digest("hex");
const answers = vi.hoisted(() => ({ question: [] as string[], reply: "" }));

vi.mock("../backbones/published-weights.js", async (original) => {
  const real = await original<typeof import("../backbones/published-weights.js")>();
  const weights = {
    ...real.publishedWeights().find(({ name }) => name === "mobilenet_v2")!,
    url: "https://weights.invalid/models/mobilenet_v2-test.pth",
    sha256: "",
  };
  return {
    ...real,
    publishedWeights: () => [weights],
    publishedWeightsNamed: (name: string) => [weights].find((each) => each.name === name),
  };
});
vi.mock("node:readline", async (original) => ({
  ...(await original<typeof import("node:readline")>()),
  createInterface: () => ({
    question(text: string, callback: (answer: string) => void) {
      answers.question.push(text);
      callback(answers.reply);
    },
    close() {},
    on() {},
  }),
}));
const { publishedWeights } = await import("../backbones/published-weights.js");
Object.assign(publishedWeights()[0], { sha256: sha256.slice(0, 8) });

const printed = catchPrinted();
let folder: string;
let server: Server;
let asked: string[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "nudge-weights-"));
  vi.stubEnv("XDG_CACHE_HOME", folder);
  for (const name of ["NUDGE_WEIGHTS", "TORCH_HOME", "NUDGE_DOWNLOAD", "NUDGE_NO_DOWNLOAD"]) vi.stubEnv(name, "");
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]) vi.stubEnv(name, "");
  asked = [];
  Object.assign(answers, { question: [], reply: "" });
  server = createServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": BYTES.length }).end(BYTES);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("NUDGE_WEIGHTS_MIRROR", `http://127.0.0.1:${(server.address() as AddressInfo).port}/mirror/`);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
  for (const stream of [process.stdin, process.stderr]) Reflect.deleteProperty(stream, "isTTY");
});

const path = (): string => join(folder, "nudge", "weights", "mobilenet_v2-test.pth");
const onTerminal = (): void => {
  for (const stream of [process.stdin, process.stderr])
    Object.defineProperty(stream, "isTTY", { value: true, configurable: true });
};

test("weights are downloaded from the mirror, listed as here, and found", async () => {
  expect(await main(["weights", "where", "mobilenet_v2"])).toBe(1);
  process.exitCode = undefined;
  expect(await main(["weights", "get", "mobilenet_v2"])).toBe(0);
  expect(printed.stdout).toBe(`${path()}\n`);
  expect(printed.stderr).toContain(`SHA-256 ${sha256}`);
  expect(readFileSync(path())).toEqual(BYTES);
  expect(asked).toEqual(["/mirror/mobilenet_v2-test.pth"]);
  expect(await main(["weights", "get", "mobilenet_v2"])).toBe(0); // it exists, so nothing is requested
  expect(await main(["weights", "where", "mobilenet_v2"])).toBe(0);
  expect(printed.stdout).toBe(`${path()}\n`.repeat(3));
  expect(await main(["weights", "list"])).toBe(0);
  expect(printed.stdout).toMatch(
    /mobilenet_v2 +mobilenet_v2 +14\.2 MB +71\.9 +yes +torchvision IMAGENET1K_V1; BSD-3-Clause/,
  );
  expect(asked).toHaveLength(1);
});

test("NUDGE_NO_DOWNLOAD forbids the download and says what to copy where; a copied file is checked", async () => {
  vi.stubEnv("NUDGE_NO_DOWNLOAD", "1");
  expect(await main(["weights", "get", "mobilenet_v2"])).toBe(2);
  expect(printed.stderr).toContain(
    `Copy it from https://weights.invalid/models/mobilenet_v2-test.pth to ${join(folder, "nudge", "weights")} by other means`,
  );
  const brought = join(folder, "brought");
  writeFileSync(brought, "others");
  expect(await main(["weights", "get", "mobilenet_v2", "--from", brought])).toBe(1);
  expect(printed.stderr).toContain("is not the published mobilenet_v2-test.pth of mobilenet_v2: its SHA-256 is");
  expect(existsSync(path())).toBe(false);
  writeFileSync(brought, BYTES);
  expect(await main(["weights", "get", "mobilenet_v2", "--from", brought])).toBe(0);
  expect(readFileSync(path())).toEqual(BYTES);
  expect(asked).toEqual([]);
});

test("without a network the error has the address and the folder to copy to", async () => {
  vi.stubEnv("NUDGE_WEIGHTS_MIRROR", "http://127.0.0.1:9");
  expect(await main(["weights", "get", "mobilenet_v2"])).toBe(1);
  expect(printed.stderr).toMatch(/no answer from .*ECONNREFUSED/);
  expect(printed.stderr).toContain(
    `download https://weights.invalid/models/mobilenet_v2-test.pth elsewhere, and copy it to ${join(folder, "nudge", "weights")}`,
  );
  vi.stubEnv("NUDGE_WEIGHTS_MIRROR", "/mnt/mirror");
  expect(await main(["weights", "get", "mobilenet_v2"])).toBe(2);
  expect(printed.stderr).toContain("expected an address that begins with https:// or http://");
});

test("an unknown name has the nearest", async () => {
  expect(await main(["weights", "get", "mobilenetv2"])).toBe(2);
  expect(printed.stderr).toContain('unknown weights "mobilenetv2": did you mean "mobilenet_v2"?');
});

/** Trains on a folder of pictures without weights. It fails at the latest when it reads the downloaded bytes, which are not weights. */
async function train(...more: string[]): Promise<number> {
  const data = join(folder, "pictures");
  await writePictures(join(data, "shop"), { cat: 4, dog: 4 });
  await writePictures(join(data, "yard"), { cat: 4, dog: 4 });
  return await main(["train", "--data", data, "--out", join(folder, "runs"), ...more]);
}

test("training in a script without weights prints the command that downloads them, and starts nothing", async () => {
  expect(await train()).toBe(2);
  expect(printed.stderr).toMatch(
    /^nudge: no trained weights for mobilenet_v2 .*\n {2}download them: +nudge weights get mobilenet_v2\n/,
  );
  expect(asked).toEqual([]);
  expect(existsSync(join(folder, "runs"))).toBe(false);
});

test("on a terminal training offers them once, with size, address and licence; no is an answer", async () => {
  onTerminal();
  answers.reply = "n";
  expect(await train()).toBe(2);
  expect(answers.question).toEqual(["Download them now? [Y/n] "]);
  expect(printed.stderr).toMatch(/weights +mobilenet_v2: torchvision IMAGENET1K_V1, 14\.2 MB/);
  expect(printed.stderr).toMatch(/from +http:\/\/127\.0\.0\.1:\d+\/mirror\/mobilenet_v2-test\.pth/);
  expect(printed.stderr).toMatch(/licence +BSD-3-Clause/);
  expect(asked).toEqual([]);
  vi.stubEnv("NUDGE_NO_DOWNLOAD", "1");
  expect(await train()).toBe(2);
  expect(answers.question).toHaveLength(1);
});

test.each([
  ["an answer on the terminal", [], "", true],
  ["--yes", ["--yes"], "", false],
  ["NUDGE_DOWNLOAD=1", [], "1", false],
])("%s downloads them, and training then reads them", async (_, flags, variable, terminal) => {
  if (terminal) onTerminal();
  vi.stubEnv("NUDGE_DOWNLOAD", variable);
  expect(await train(...flags)).toBe(1);
  expect(answers.question).toHaveLength(terminal ? 1 : 0);
  expect(readdirSync(join(folder, "nudge", "weights"))).toEqual(["mobilenet_v2-test.pth"]);
  expect(printed.stderr).toContain("mobilenet_v2-test.pth: expected weights (safetensors, or a PyTorch state dict");
});
