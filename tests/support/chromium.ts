/**
 * A headless Chromium for tests that look at a page: the system's, installed from Debian's packages where that is allowed.
 *
 * The browser itself asks its maker for updates and accounts, whatever it is told not to; so everything but this machine's
 * own addresses goes to a proxy on a port where nobody listens. No name is looked up and nothing outside is connected to,
 * while a page's own requests are still seen by `watchPage`.
 */

import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll } from "vitest";
import { aptInstall, rightToInstall } from "../../scripts/setup/apt.mjs";

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The discard service's port: closed on any machine of today. */
const nowhere = "http://127.0.0.1:9";

const flags = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
  `--proxy-server=${nowhere}`,
];

/** The program's path, or why there is none. */
async function findChromium(): Promise<{ path: string } | { problem: string }> {
  const found = (): string | undefined => paths.find(existsSync);
  const path = found();
  if (path) return { path };
  const right = await rightToInstall({ env: process.env, searchRoot: "/" });
  if ("problem" in right)
    return { problem: `no Chromium in ${paths.join(", ")}, and none installed: ${right.problem}` };
  try {
    await aptInstall(["chromium"], "for tests that open a page", { right, env: process.env });
  } catch (error) {
    return { problem: `no Chromium: ${(error as Error).message}` };
  }
  const installed = found();
  return installed ? { path: installed } : { problem: `no Chromium in ${paths.join(", ")} after installing it` };
}

/**
 * Opens a browser with an empty profile that closes when the test file ends; undefined, with a warning that says why,
 * where there is no Chromium. Call it at the top of a test file:
 *
 * ```ts
 * const browser = await openBrowser();
 * test.skipIf(!browser)("the page is laid out (needs Chromium)", async () => {
 *   const page = await browser!.newPage({ colorScheme: "dark" });
 *   const seen = watchPage(page);
 *   await page.goto(pathToFileURL("report.html").href);
 *   expect(seen).toEqual({ errors: [], requests: [page.url()] });
 * });
 * ```
 */
export async function openBrowser(): Promise<Browser | undefined> {
  const found = await findChromium();
  if ("problem" in found) {
    console.warn(`skipping tests that open a page: ${found.problem}`);
    return undefined;
  }
  const browser = await chromium.launch({ executablePath: found.path, args: flags });
  afterAll(() => browser.close());
  return browser;
}

/** What a page said and asked for so far. */
export interface Seen {
  /** Errors on the console and errors nobody caught. */
  readonly errors: string[];
  /** The addresses it asked for, its own first; not data inside the page (`data:`, `blob:`). */
  readonly requests: string[];
}

/** Watches a page from now on: call it before `goto`. */
export function watchPage(page: Page): Seen {
  const seen: Seen = { errors: [], requests: [] };
  page.on("console", (message) => {
    if (message.type() === "error") seen.errors.push(message.text());
  });
  page.on("pageerror", (error) => void seen.errors.push(String(error)));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url())) seen.requests.push(request.url());
  });
  return seen;
}
