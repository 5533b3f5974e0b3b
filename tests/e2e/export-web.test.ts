/** The folder of `nudge export --format web`, served by a plain static server: the browser predicts as `nudge predict` does. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import sharp from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { loadModel, type Model } from "../../src/model/index.js";
import { exportWeb } from "../../src/serve/export-web.js";
import { openBrowser, watchPage } from "../support/chromium.js";
import { writeMadeModel } from "../support/made-model.js";
import { temporaryFolder } from "../support/picture-folder.js";

const browser = await openBrowser();
const base = new URL("../../dist/", import.meta.url);
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
};

async function made(): Promise<{ folder: string; model: Model }> {
  const folder = temporaryFolder();
  const path = join(folder, "model.safetensors");
  const quantiles = Array.from({ length: 101 }, () => 1); // all that is not certain is uncertain
  const about = { calibration: { temperature: 1.3, count: 9, quantiles } };
  writeMadeModel(path, { inputShape: [3, 32, 32], classes: ["</script><b>cat</b>", "dog"], about });
  const model = await loadModel(path);
  onTestFinished(() => model.dispose());
  return { folder, model };
}

/** Serves a folder under a path, as a static host does. */
async function serve(folder: string): Promise<string> {
  const server = createServer(({ url = "/" }, response) => {
    const name = normalize(decodeURIComponent(url.replace(/^\/some\/place\//, ""))) || "index.html";
    const file = join(folder, name === "." ? "index.html" : name);
    if (!url.startsWith("/some/place/") || name.startsWith("..") || !existsSync(file)) response.writeHead(404).end();
    else
      response
        .writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" })
        .end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/place/`;
}

test.skipIf(!browser)(
  "the page predicts in the browser, with the probabilities of predict and no other request",
  async () => {
    const { folder, model } = await made();
    const out = join(folder, "page");
    const files = exportWeb(model, out, { base });
    expect(files).toEqual(
      expect.arrayContaining(["index.html", "model.onnx", "model.md", "style.css", "ort/ort-wasm-simd-threaded.wasm"]),
    );
    const address = await serve(out);
    const page = await browser!.newPage({ viewport: { width: 1280, height: 800 } });
    const seen = watchPage(page);
    onTestFinished(() => page.close());
    await page.goto(address);
    await page.getByText("toy-cnn, trained on photo, paint. Classes: </script><b>cat</b>, dog.").waitFor();
    const pictures = [
      [32, 32],
      [90, 60],
    ].map(([width, height], k) => {
      const data = Buffer.from(Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * (7 + 4 * k)) % 256));
      return {
        name: `${k}.png`,
        png: sharp(data, { raw: { width, height, channels: 3 } })
          .png()
          .toBuffer(),
      };
    });
    for (const { name, png } of pictures) writeFileSync(join(folder, name), await png);
    await page.setInputFiles(
      "#files",
      pictures.map(({ name }) => join(folder, name)),
    );
    await page.getByText("2 predicted, 2 of them unknown").waitFor();
    for (const { name } of pictures) {
      const { label, top } = await model.predict(join(folder, name));
      const item = page.locator("li", { has: page.locator("small", { hasText: name }) }).last();
      expect(await item.locator("strong").first().textContent()).toBe(label);
      const shown = await item.locator(".bars .number").allTextContents();
      expect(shown).toEqual(top.map(({ probability }) => `${(100 * probability).toFixed(1)} %`));
      await item.getByText("unknown: too uncertain").waitFor();
    }
    expect(seen.errors).toEqual([]);
    expect(seen.requests.filter((each) => !each.startsWith(address) && !/^(blob|data):/.test(each))).toEqual([]);
    writeFileSync(join(folder, "broken.png"), "no picture");
    await page.setInputFiles("#files", [join(folder, "broken.png")]);
    await page.getByText("this browser cannot read the file as a picture").waitFor();
  },
);

test("without onnxruntime-web, one sentence says what to install, and nothing is written", async () => {
  const { folder, model } = await made();
  const nowhere = new URL("./", import.meta.url);
  expect(() => exportWeb(model, join(folder, "page"), { base: nowhere, runtime: "no-such-package" })).toThrow(
    /needs the package onnxruntime-web.*npm install onnxruntime-web/,
  );
  expect(readdirSync(folder)).toEqual(["model.safetensors"]);
});
