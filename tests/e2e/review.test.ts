/** `nudge data review`: planted label errors are found, a page in a browser puts them right, and training reads the manifest. */

import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import sharp from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { reviewWords } from "../../src/cli/data-review.js";
import { main } from "../../src/cli/main.js";
import type { PictureDataset } from "../../src/data/dataset.js";
import { openDataset } from "../../src/data/open-dataset.js";
import { ReviewedManifest } from "../../src/review/reviewed-manifest.js";
import { startReview } from "../../src/review/server.js";
import { openBrowser, watchPage } from "../support/chromium.js";
import { temporaryFolder } from "../support/picture-folder.js";
import { catchPrinted } from "../support/printed.js";

const browser = await openBrowser();
const printed = catchPrinted();

/** Two classes that a network tells apart, one picture of each in the other's folder. */
async function mislabelled(): Promise<string> {
  const root = join(temporaryFolder(), "pictures");
  for (const domain of ["a", "b"])
    for (const [name, hue] of [["x", 0], ["y", 200]] as const) // biome-ignore format: pairs
      for (let i = 0; i < 12; i++) {
        const place = join(root, domain, name, `${String(i).padStart(3, "0")}.png`);
        mkdirSync(dirname(place), { recursive: true });
        const background = { r: 255 - hue - 2 * i, g: domain === "a" ? 60 + i : 90, b: 20 + hue };
        await sharp({ create: { width: 40, height: 32, channels: 3, background } })
          .png()
          .toFile(place);
      }
  renameSync(join(root, "a/x/003.png"), join(root, "a/y/wrong-1.png"));
  renameSync(join(root, "b/y/004.png"), join(root, "b/x/wrong-2.png"));
  return root;
}

test("planted label errors are found by models that were not trained on them", async () => {
  const root = await mislabelled();
  const asked = ["data", "review", root, "--backbone", "toy-cnn", "--device", "cpu", "--json"];
  expect(await main(asked), printed.stderr).toBe(0);
  const found = JSON.parse(printed.stdout) as { path: string; label: string; suggested: string }[];
  expect(
    found
      .slice(0, 2)
      .map(({ path, suggested }) => `${path} ${suggested}`)
      .sort(),
  ).toEqual(["a/y/wrong-1.png x", "b/x/wrong-2.png y"]);
});

test("the output promises no errors: a model disagrees with the label, and either can be wrong", () => {
  expect(reviewWords(20, 600)).toBe(
    "20 labels of 600 pictures to check: a model that was not trained on the picture predicts another class",
  );
});

test.skipIf(!browser)(
  "decisions on the page are in the manifest immediately, and are read back (needs Chromium)",
  async () => {
    const root = await mislabelled();
    const dataset = (await openDataset(root)) as PictureDataset;
    const path = join(temporaryFolder(), "reviewed.csv");
    const manifest = new ReviewedManifest(path, dataset);
    manifest.write();
    const picture = (file: string, label: string, suggested: string) => ({
      ...{ path: file, domain: file[0], label, suggested, probability: 0.97, given: 0.02 },
    });
    const pictures = [
      picture("a/y/wrong-1.png", "y", "x"),
      picture("b/x/wrong-2.png", "x", "y"),
      picture("a/x/001.png", "x", "y"),
    ];
    const base = new URL("../../dist/", import.meta.url);
    const server = await startReview({ dataset, pictures, manifest, command: "nudge train --data x", port: 0, base });
    const page = await browser!.newPage({ viewport: { width: 380, height: 800 }, colorScheme: "dark" });
    const seen = watchPage(page);
    onTestFinished(async () => {
      await page.close();
      await server.close();
    });
    await page.goto(server.url);
    const items = page.getByRole("list", { name: "Pictures to review" }).locator("li");
    await expect.poll(() => items.count()).toBe(3);
    await items.nth(0).getByRole("button", { name: "it is x" }).click();
    await items.nth(1).getByRole("button", { name: "remove" }).click();
    await items.nth(2).getByRole("button", { name: "x is right" }).click();
    await expect.poll(() => page.locator("li.done").count()).toBe(3);
    expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(0);
    expect(await page.evaluate("document.images[0].naturalWidth")).toBeGreaterThan(0);
    if (process.env.NUDGE_SCREENSHOTS)
      await page.screenshot({ path: join(process.env.NUDGE_SCREENSHOTS, "review.png"), fullPage: true });
    expect(seen.errors).toEqual([]);
    const text = readFileSync(path, "utf8");
    expect(text).toMatch(/a\/y\/wrong-1\.png,x,a\n/);
    expect(text).not.toContain("wrong-2");
    const reviewed = await openDataset(path); // what train reads
    expect(reviewed.domains.map(({ count }) => count)).toEqual([24, 23]);
    expect([...new ReviewedManifest(path, dataset).marks]).toEqual([
      ["a/y/wrong-1.png", "x"],
      ["b/x/wrong-2.png", null],
    ]);
    const post = (query: string, headers = {}): Promise<Response> =>
      fetch(`${server.url}mark?${query}`, { method: "POST", headers });
    expect((await post("n=99&as=x")).status).toBe(400);
    expect((await post("n=0&as=nothing")).status).toBe(400);
    expect((await post("n=0&as=y", { Origin: "http://evil.example" })).status).toBe(403);
  },
);
