/** `nudge serve` in a browser: pictures are dropped on the page, and it shows what the model says of each. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { loadModel } from "../../src/model/index.js";
import { startServe } from "../../src/serve/server.js";
import { openBrowser, watchPage } from "../support/chromium.js";
import { writeMadeModel } from "../support/made-model.js";
import { pictureBytes, temporaryFolder, writeFile } from "../support/picture-folder.js";

const browser = await openBrowser();
const withBrowser = test.skipIf(!browser);
const base = new URL("../../dist/", import.meta.url);

async function open(
  options: { colorScheme?: "light" | "dark"; width?: number } = {},
): Promise<{ page: Page; folder: string }> {
  const folder = temporaryFolder();
  const path = join(folder, "model.safetensors");
  const quantiles = Array.from({ length: 101 }, () => 1); // all that is not certain is uncertain
  const about = { calibration: { temperature: 1, count: 9, quantiles } };
  writeMadeModel(path, { inputShape: [3, 16, 16], classes: ["<b>cat</b>", "dog"], about });
  const model = await loadModel(path);
  const server = await startServe({ model, port: 0, base });
  const { colorScheme, width = 1280 } = options;
  const page = await browser!.newPage({ viewport: { width, height: 800 }, colorScheme });
  const seen = watchPage(page);
  onTestFinished(async () => {
    await page.close();
    await server.close();
    model.dispose();
    // A picture that cannot be read is answered with 422, which the browser logs as an error of its own.
    expect(seen.errors.filter((text) => !text.includes("422"))).toEqual([]);
    expect(seen.requests.filter((address) => !address.startsWith(server.url))).toEqual([]);
  });
  await page.goto(server.url);
  return { page, folder };
}

/** Drops files on the page as a person does. */
async function drop(page: Page, files: readonly { name: string; bytes: Buffer }[]): Promise<void> {
  const given = files.map(({ name, bytes }) => ({ name, text: bytes.toString("base64") }));
  const data = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    for (const { name, text } of ${JSON.stringify(given)})
      transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name, { type: "image/png" }));
    return transfer;
  })()`);
  for (const kind of ["dragenter", "dragover", "drop"])
    await page.dispatchEvent("body", kind, { dataTransfer: data } as object);
}

withBrowser("dropped and chosen pictures are predicted, and names are shown as text", async () => {
  const { page, folder } = await open();
  await page.getByText("toy-cnn, trained on photo, paint. Classes: <b>cat</b>, dog.").waitFor();
  await drop(page, [
    { name: "one.png", bytes: await pictureBytes("one.png", 1) },
    { name: "<img src=x>.png", bytes: await pictureBytes("two.png", 2) },
    { name: "broken.png", bytes: Buffer.from("no picture") },
  ]);
  await page.getByText("2 predicted, 2 of them unknown, 1 failed").waitFor();
  const items = page.getByRole("list", { name: "Predictions" }).locator(":scope > li");
  expect(await items.count()).toBe(3);
  await page.getByText("could not be decoded: not a picture: its content is text").waitFor();
  await page.getByText("<img src=x>.png").waitFor();
  expect(await page.getByText("unknown: too uncertain").count()).toBe(2);
  expect(await page.locator("meter").count()).toBe(4);
  writeFile(folder, "chosen.png", await pictureBytes("chosen.png", 3));
  await page.setInputFiles("input[type=file]", join(folder, "chosen.png"));
  await page.getByText("3 predicted").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Save as CSV").click()]);
  const csv = readFileSync(await download.path(), "utf8")
    .trimEnd()
    .split("\r\n");
  expect(csv[0]).toBe(
    '"picture","class","probability","unknown","distance_percentile","nearest_domain","truncated","problem"',
  );
  expect(csv).toHaveLength(5);
  await page.getByText("Clear").click();
  expect(await items.count()).toBe(0);
});

withBrowser.each([
  ["light", 1280],
  ["dark", 1280],
  ["light", 360],
  ["dark", 360],
] as const)("the page fits in %s mode at %i pixels", async (colorScheme, width) => {
  const { page } = await open({ colorScheme, width });
  await drop(page, [{ name: "one.png", bytes: await pictureBytes("one.png", 1, { width: 640, height: 480 }) }]);
  await page.getByText("1 predicted").waitFor();
  const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect(wide).toBe(0);
  if (process.env.NUDGE_SCREENSHOTS)
    await page.screenshot({
      path: join(process.env.NUDGE_SCREENSHOTS, `serve-${colorScheme}-${width}.png`),
      fullPage: true,
    });
});
