/** The report's page in a browser, where one can be had: it is laid out without a script and without any request. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { makeReport, writeReport } from "../../src/report/index.js";
import { readResults } from "../../src/report/read-results.js";
import { openBrowser, watchPage } from "../support/chromium.js";
import { temporaryFolder } from "../support/picture-folder.js";
import { writePacsSweep } from "../support/report-runs.js";

const browser = await openBrowser();

test.skipIf(!browser).each([{ width: 1100 }, { width: 380 }])(
  "the page makes no requests, has no errors and fits a window of $width pixels (needs Chromium)",
  async ({ width }) => {
    const folder = temporaryFolder();
    writePacsSweep(join(folder, "runs"));
    const [file] = writeReport(makeReport(readResults([join(folder, "runs")]), { claims: true }), folder, ["html"]);
    const page = await browser!.newPage({ viewport: { width, height: 800 } });
    const seen = watchPage(page);
    await page.goto(pathToFileURL(file).href);
    expect(seen).toEqual({ errors: [], requests: [pathToFileURL(file).href] });
    expect(await page.locator("td.best", { hasText: "82.0 ± 0.7" }).count()).toBe(1);
    expect(await page.locator(".figure").count()).toBe(5);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await page.close();
  },
);

test.skipIf(!browser)("requests and errors of a page are detected (needs Chromium)", async () => {
  const asking = join(temporaryFolder(), "asking.html");
  writeFileSync(asking, '<img src="http://pictures.invalid/a.png"><script>absent()</script>');
  const page = await browser!.newPage();
  const seen = watchPage(page);
  await page.goto(pathToFileURL(asking).href);
  expect(seen.requests).toEqual([pathToFileURL(asking).href, "http://pictures.invalid/a.png"]);
  expect(seen.errors.join("\n")).toMatch(/absent is not defined/);
  await page.close();
});
