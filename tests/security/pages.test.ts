/**
 * Names of classes, domains, files and datasets that a stranger chose, on every page and in everything that is printed: markup, URLs,
 * terminal escapes and formulas are shown as text. Each page is opened in a browser. And the servers answer with the pictures that
 * their pages show, and with no other file.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startDashboard } from "../../src/dashboard/server.js";
import type { PictureDataset } from "../../src/data/dataset.js";
import { openDataset } from "../../src/data/open-dataset.js";
import type { LocalServer } from "../../src/http/local-server.js";
import { loadModel } from "../../src/model/index.js";
import { ReviewedManifest } from "../../src/review/reviewed-manifest.js";
import { startReview } from "../../src/review/server.js";
import { startServe } from "../../src/serve/server.js";
import { openBrowser, watchPage } from "../support/chromium.js";
import { pictureBytes } from "../support/picture-folder.js";
import { startNudge } from "../support/start-nudge.js";

const browser = await openBrowser();
const withBrowser = test.skipIf(!browser);
const base = new URL("../../dist/", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "nudge-pages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000);

const image = "<img src=x onerror=alert(1)>";
const classes = [image, '"><script>alert(2)</script>', "\x1b]0;owned\x07\x1b[2J\u202egnp", "__proto__"];
const domains = ["<svg onload=alert(3)>", "'\"--><iframe src=javascript:alert(4)>\x1b[31m", "=cmd|'/c calc'!A1"];
const manifest = join(folder, "<b onmouseover=alert(5)>.csv");
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  const rows = [["path", "label", "domain"]];
  mkdirSync(at("p"));
  for (const [d, domain] of domains.entries())
    for (const [c, label] of classes.entries())
      for (let i = 0; i < 4; i++) {
        const path = `p/${d}${c}${i} <u onclick=alert(6)>\x1b[5m&amp;.png`;
        writeFileSync(at(path), await pictureBytes(path, 40 * c + 4 * d + i, { width: 20, height: 16 }));
        rows.push([path, label, domain]);
      }
  const field = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  writeFileSync(manifest, rows.map((row) => `${row.map(field).join(",")}\n`).join(""));
  process.env.XDG_CACHE_HOME = at("cache");
});

/** What must not reach a terminal: control characters other than line ends and tabs, and marks of direction. */
const DANGEROUS = /(?![\n\t]|\r\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

async function nudge(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await startNudge(args).ended;
  expect(code, stderr).toBe(0);
  expect(`${stdout}${stderr}`).not.toMatch(DANGEROUS);
  return stdout;
}

const SMALL = "--backbone toy-cnn --no-pretrained --threads 1 --batch-size 2 --steps 2 --eval-every 1 --algorithm erm";

test("commands print hostile names without control characters, and JSON of them can be read", {
  timeout: 300_000,
}, async () => {
  await nudge("train", "--data", manifest, ...SMALL.split(" "), "--out", at("runs"));
  const model = at("runs/latest");
  await nudge("data", "inspect", manifest, "--html", at("inspect.html"));
  await nudge("eval", model, "--data", manifest, "--html", at("eval.html"));
  await nudge("predict", model, at("p"), "--html", at("predict.html"), "--explain", at("why"));
  const csv = await nudge("predict", model, at("p"), "--format", "csv");
  for (const line of csv.split("\r\n")) expect(line).not.toMatch(/(^|,)"?[=@+]/); // a formula for a spreadsheet
  await nudge("data", "curve", manifest, "--backbone", "toy-cnn", "--html", at("curve.html"));
  await nudge("report", at("runs"), "--out", at("report"));
  const found = JSON.parse(await nudge("data", "review", manifest, "--backbone", "toy-cnn", "--json"));
  for (const { label, suggested } of found) expect(classes).toEqual(expect.arrayContaining([label, suggested]));
  const rows = (await nudge("predict", model, at("p"), "--json")).trimEnd().split("\n");
  expect(rows.map((row) => JSON.parse(row).class).every((name) => classes.includes(name))).toBe(true);
});

/** Elements and attributes that names asked for; a page has its own images and scripts, which have an address. */
const WILD = [
  ..."iframe object embed u script:not([src]) img[src=x] [onerror] [onload] [onclick] [onmouseover]".split(" "),
  'a[href^="javascript:" i]',
].join(", ");

async function expectTame(page: Page, dialogs: readonly string[]): Promise<void> {
  expect(dialogs).toEqual([]);
  expect(await page.locator(WILD).count()).toBe(0);
}

async function openPage(): Promise<{ page: Page; seen: ReturnType<typeof watchPage>; dialogs: string[] }> {
  const page = await browser!.newPage();
  onTestFinished(() => page.close());
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  return { page, seen: watchPage(page), dialogs };
}

const PAGES = [
  "inspect.html",
  "eval.html",
  "predict.html",
  "curve.html",
  "report/report.html",
  "runs/latest/report.html",
];

withBrowser.each(PAGES)("%s shows hostile names as text (needs Chromium)", async (name) => {
  const { page, seen, dialogs } = await openPage();
  const address = pathToFileURL(at(name)).href;
  await page.goto(address);
  expect(seen).toEqual({ errors: [], requests: [address] });
  const text = String(await page.evaluate("document.body.textContent"));
  expect([image, ...domains].some((each) => text.includes(each.split("\x1b")[0]))).toBe(true);
  await expectTame(page, dialogs);
});

async function serveModel(): Promise<LocalServer> {
  const model = await loadModel(join(at("runs/latest"), "model.safetensors"));
  const server = await startServe({ model, port: 0, base });
  onTestFinished(async () => {
    await server.close();
    model.dispose();
  });
  return server;
}

async function serveReview(): Promise<LocalServer> {
  const dataset = (await openDataset(manifest)) as PictureDataset;
  const pictures = dataset.domains.flatMap(({ name, files, labels }) =>
    files.slice(0, 2).map((path, i) => ({
      ...{ path, domain: name, label: classes[labels[i]] ?? classes[0], suggested: classes[1] },
      ...{ probability: 0.9, given: 0.1 },
    })),
  );
  const decisions = new ReviewedManifest(at("reviewed.csv"), dataset);
  const command = `nudge train --data '${image}.csv'`;
  const server = await startReview({ dataset, pictures, manifest: decisions, command, port: 0, base });
  onTestFinished(() => server.close());
  return server;
}

withBrowser(
  "the page of data review shows hostile names as text, and its decisions are kept (needs Chromium)",
  async () => {
    const server = await serveReview();
    const { page, seen, dialogs } = await openPage();
    await page.goto(server.url);
    const items = page.getByRole("list", { name: "Pictures to review" }).locator("li");
    await expect.poll(() => items.count()).toBe(6);
    await items
      .nth(0)
      .getByRole("button", { name: `it is ${classes[1]}` })
      .click();
    await expect.poll(() => page.locator("li.done").count()).toBe(1);
    await items.nth(1).locator("select").selectOption(classes[2]);
    await expect.poll(() => page.locator("li.done").count()).toBe(2);
    expect(await page.evaluate("document.images[0].naturalWidth")).toBeGreaterThan(0);
    await expectTame(page, dialogs);
    expect(seen.errors).toEqual([]);
    const reviewed = (await openDataset(at("reviewed.csv"))) as PictureDataset; // names come back as they were
    expect([...reviewed.classes].sort()).toEqual([...classes].sort());
    expect(reviewed.domains.map(({ name }) => name).sort()).toEqual([...domains].sort());
  },
);

withBrowser("the page of serve shows hostile names as text (needs Chromium)", async () => {
  const server = await serveModel();
  const { page, seen, dialogs } = await openPage();
  await page.goto(server.url);
  await page.getByText(image).first().waitFor();
  await page.setInputFiles("input[type=file]", join(at("p"), readdirSync(at("p"))[0]));
  await page.getByText("1 predicted").waitFor();
  await expectTame(page, dialogs);
  expect(seen.errors).toEqual([]);
});

withBrowser("the dashboard shows hostile names as text on the pages of a run (needs Chromium)", async () => {
  await using server = await startDashboard({ folder: at("runs"), port: 0, base });
  const { page, dialogs } = await openPage();
  await page.goto(server.url);
  const row = page.locator("[title]").filter({ hasText: "erm" }).or(page.getByText("held out")).first();
  await row.click();
  for (const tab of await page.getByRole("tab").all()) await tab.click();
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByRole("heading").first().waitFor();
  await expectTame(page, dialogs);
});

const secret = "root:x:0:0";

test("serve and data review answer with no file that an address names", async () => {
  for (const server of [await serveModel(), await serveReview()])
    for (const way of [
      "etc/passwd",
      "..%2f..%2f..%2f..%2fetc%2fpasswd",
      "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
      "picture?n=/etc/passwd",
      "picture?n=../0",
      "picture?n=-1",
      "picture?n=1e3",
      "picture?path=/etc/passwd&n=",
      "picture?n=99999999999",
      "items/../../../etc/passwd",
      "page/..%5c..%5cmain.js",
      "%00",
    ]) {
      const response = await fetch(`${server.url}${way}`, { redirect: "manual" });
      expect(response.status, way).toBeGreaterThanOrEqual(400);
      expect(await response.text()).not.toContain(secret);
      const foreign = await fetch(`${server.url}${way}`, { headers: { Origin: "http://evil.example" } });
      expect(foreign.status).toBe(403);
    }
});

test("data review shows no file that is not a picture, whatever its name or link says", async () => {
  const place = mkdtempSync(join(folder, "links-"));
  mkdirSync(join(place, "a/x"), { recursive: true });
  symlinkSync("/etc/passwd", join(place, "a/x/passwd.png"));
  writeFileSync(join(place, "a/x/page.png"), `<script>alert(7)</script>${secret}`);
  writeFileSync(join(place, "a/x/true.png"), await pictureBytes("true.png", 1));
  const files = ["a/x/passwd.png", "a/x/page.png", "a/x/true.png"];
  writeFileSync(join(place, "m.csv"), `path,label\n${files.map((file) => `${file},x\n`).join("")}`);
  const dataset = (await openDataset(join(place, "m.csv"))) as PictureDataset;
  const pictures = files.map((path) => ({
    ...{ path, domain: "all", label: "x", suggested: "y", probability: 1, given: 0 },
  }));
  const decisions = new ReviewedManifest(join(place, "reviewed.csv"), dataset);
  await using server = await startReview({ dataset, pictures, manifest: decisions, command: "", port: 0, base });
  const answers = await Promise.all(files.map((_, n) => fetch(`${server.url}picture?n=${n}`)));
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 200]);
  expect(answers[2].headers.get("content-type")).toBe("image/webp");
  for (const answer of answers.slice(0, 2)) expect(await answer.text()).toBe("this picture cannot be read\n");
});

test.each([
  ["a device", "path,label\n/dev/zero,x\n", "not found"],
  ["a folder", "path,label\np,x\n", "not found"],
  ["a zero byte", '{"path":"a\\u0000.png","label":"x"}\n', "zero byte"],
  ["a path twice", "path,label\na.png,x\n./a.png,y\n", "already on line 2"],
  ["too few fields", "path,label\na.png\n", "expected 2 fields"],
  ["an object for a label", '{"path":"a.png","label":{"__proto__":1}}\n', 'expected "label" to be text'],
  ["terminal escapes", "\x1b[2Jpath,\x1b]0;x\x07\n", "header"],
  ["a quote that never ends", `path,label\n"${"x".repeat(100_000)}`, "quote"],
])("data review refuses a manifest with %s, and writes nothing", async (_, text, words) => {
  const source = at(text.startsWith("{") ? "hostile.jsonl" : "hostile.csv");
  writeFileSync(source, text);
  const { code, stdout, stderr } = await startNudge(["data", "review", source, "--backbone", "toy-cnn"]).ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(words);
  expect(stderr).not.toMatch(DANGEROUS);
  expect(stderr).not.toContain("    at "); // no stack
  expect(existsSync(at("hostile-reviewed.csv"))).toBe(false);
});
