/**
 * The dashboard in a browser: as built, over real folders, one of them being trained in. Every page is watched: none may log
 * an error or ask for anything but its own server.
 */

import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { FolderLock } from "../../src/files/folder-lock.js";
import { formatRecord } from "../../src/records/record.js";
import { openBrowser, type Seen, watchPage } from "../support/chromium.js";
import { writeManyRuns } from "../support/many-runs.js";
import { fitted, writeOwnTraining } from "../support/own-runs.js";
import { temporaryFolder, writeFile } from "../support/picture-folder.js";
import { writePacsSweep } from "../support/report-runs.js";
import { accuraciesAt, writeRun } from "../support/run-folders.js";
import { startDashboardProcess } from "../support/start-dashboard.js";
import { startNudge } from "../support/start-nudge.js";

const browser = await openBrowser();
const withBrowser = test.skipIf(!browser);
const SLOW = 30_000; // the machine may be busy with other tests

/** Opens the page; what it said and asked for is checked when the test ends. */
async function open(url: string, options: { colorScheme?: "light" | "dark" } = {}): Promise<Page> {
  const page = await browser!.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  page.setDefaultTimeout(SLOW);
  const seen: Seen = watchPage(page);
  onTestFinished(async () => {
    await page.close();
    expect(seen.errors).toEqual([]);
    expect(seen.requests.filter((address) => !address.startsWith(new URL(url).origin))).toEqual([]);
  });
  await page.goto(url);
  return page;
}

const rows = (page: Page): Locator => page.getByRole("grid", { name: "Runs" }).locator(".row");

/** The text of an element, again and again until it fits. */
const eventually = (read: () => Promise<unknown>) => expect.poll(read, { timeout: SLOW, interval: 100 });

withBrowser("the page follows a run, and shows the command that resumes it after a stop", async () => {
  const folder = temporaryFolder();
  const { url, pid } = await startDashboardProcess(folder, { token: true });
  const page = await open(url);
  await page.getByText("No runs here yet").waitFor();
  expect(new URL(page.url()).search).toBe(""); // the token was exchanged for a cookie
  await page.reload();
  await page.getByText("No runs here yet").waitFor();
  const data = ["--data", "shapes", "data.size=16", "data.perCell=5", "--test-domain", "outlined"];
  const length = ["--steps", "4000", "--eval-every", "3", "--batch-size", "4", "--threads", "1"];
  const training = startNudge([
    "train",
    ...data,
    "--backbone",
    "small-cnn",
    "--algorithm",
    "ERM-NU",
    ...length,
    "--out",
    folder,
  ]);
  onTestFinished(() => void training.process.kill("SIGKILL"));

  await eventually(() => rows(page).getByText("running").count()).toBe(1);
  await rows(page).getByText("ERM-NU").click();
  await page.getByRole("heading", { name: "ERM-NU · shapes · outlined held out" }).waitFor();
  const line = page.locator("figure", { hasText: "Accuracy" }).locator("path.strong");
  const points = async (): Promise<number> => ((await line.getAttribute("d")) ?? "").split("L").length;
  await eventually(points).toBeGreaterThan(2);
  const before = await points();
  await eventually(points).toBeGreaterThan(before);
  await eventually(() => page.locator(".progress-words").textContent()).toMatch(/step [\d,]+ of 4,000 · ≈ .* left/);

  const engineIn = (process: number): boolean => /libtorch|libc10/.test(readFileSync(`/proc/${process}/maps`, "utf8"));
  expect(engineIn(training.process.pid!)).toBe(true);
  training.process.kill("SIGTERM");
  await page.getByText("stopped", { exact: true }).waitFor();
  await page.getByText(/^nudge train --resume .*shapes-outlined/).waitFor();
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByRole("log").getByText("resume with: nudge train --resume").waitFor();
  await page.getByRole("tab", { name: "Features" }).click();
  await page.getByRole("heading", { name: "Stable rank" }).waitFor();
  // All of this, the toy task too, and the engine is not in its memory, as it was in the one that trained.
  await page.getByRole("link", { name: "Toy task" }).click();
  await page.getByText(/^step [1-9]/).waitFor();
  expect(engineIn(pid)).toBe(false);
});

withBrowser("runs are filtered, chosen by keyboard, compared and zoomed", async () => {
  const folder = temporaryFolder();
  writePacsSweep(join(folder, "runs"));
  const { url } = await startDashboardProcess(folder);
  const page = await open(url, { colorScheme: "dark" });
  await page.getByText("24 runs.").waitFor();
  await page.getByRole("searchbox").fill("sketch trial1");
  await eventually(() => rows(page).count()).toBe(2);
  await rows(page).first().focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.getByRole("link", { name: "Compare (2)" }).click();

  const lines = page.locator("figure path.line");
  await eventually(() => lines.count()).toBe(2);
  // What tells the two apart is the penalty, and the table says so.
  await page.getByRole("columnheader", { name: "nuclear-norm.weight" }).waitFor();
  const plot = page.getByRole("group", { name: /^Accuracy/ });
  const all = await lines.first().getAttribute("d");
  await plot.focus();
  await page.keyboard.press("+");
  const showAll = page.getByRole("button", { name: "Show all" });
  await showAll.waitFor();
  expect(await lines.first().getAttribute("d")).not.toBe(all);
  await page.keyboard.press("0");
  await eventually(() => showAll.isVisible()).toBe(false);
  expect(await lines.first().getAttribute("d")).toBe(all);
  // The same by dragging over a part, and by the wheel.
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 80, { steps: 4 });
  await page.mouse.up();
  await showAll.click();
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await showAll.waitFor();
  // Reading values by keyboard: the legend shows them, and a screen reader is told.
  await plot.focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowRight");
  await eventually(() => plot.locator("xpath=..").getByRole("status").textContent()).toMatch(/^step \d+: ERM.* \d/);
  await page.getByLabel("Metric").selectOption("accuracy");
  await page.getByLabel("On").selectOption({ label: "photo" });
  expect(await lines.first().getAttribute("d")).not.toBe(all);
});

withBrowser("a run with one evaluation shows its numbers, and charts after the second", async () => {
  const folder = temporaryFolder();
  const run = writeRun(join(folder, "one"), { records: accuraciesAt(0, 0.5), done: false });
  const { url } = await startDashboardProcess(folder);
  const page = await open(`${url}#/run/one`);
  const accuracy = page.locator("figure", { hasText: "Accuracy" });
  await accuracy.getByRole("row", { name: /held out 5\d\.0 step 0$/ }).waitFor();
  expect(await page.locator(".plot").count()).toBe(0);
  appendFileSync(join(run, "records.jsonl"), accuraciesAt(100, 0.6).map(formatRecord).join(""));
  await accuracy.locator("path.strong").waitFor({ state: "attached" });
  expect(await accuracy.getByRole("row").count()).toBe(0);
});

withBrowser("tables follow the selection rule and show the published numbers on request", async () => {
  const folder = temporaryFolder();
  writePacsSweep(join(folder, "runs"));
  const { url } = await startDashboardProcess(folder);
  const page = await open(`${url}#/tables`);
  const average = page
    .getByRole("row", { name: /^ERM-NU/ })
    .first()
    .getByRole("cell")
    .last();
  await eventually(() => average.textContent()).toMatch(/^7\d\.\d/);
  const chosen = await average.textContent();
  // The oracle takes the last evaluation, which is five points worse here.
  await page.getByRole("radio", { name: "oracle" }).check();
  await eventually(() => average.textContent()).toBe((Number(chosen) - 5).toFixed(1));
  await page.getByRole("checkbox", { name: "published numbers" }).check();
  await page
    .getByRole("row", { name: /^published/ })
    .first()
    .waitFor();
  await page.getByRole("heading", { name: "ERM-NU minus ERM, pair by pair" }).waitFor();
});

withBrowser("for own pictures, the list marks final models, and the tables show the expected accuracy", async () => {
  const folder = temporaryFolder();
  writeOwnTraining(folder, "a", { right: 12 });
  writeOwnTraining(folder, "b", { right: 12, settings: { fixed: { ...fitted, lr: 0.001 } } });
  const { url } = await startDashboardProcess(folder);
  const page = await open(url);
  const own = rows(page).filter({ hasText: "all domains (final model)" });
  await eventually(() => own.count()).toBe(2);
  await eventually(() => rows(page).first().textContent()).not.toContain("augmentValidation"); // the program's choice
  await page.goto(`${url}#/tables`);
  const model = page.getByRole("region", { name: "wild: models to use" }).getByRole("row", { name: /lr=0.001/ });
  await eventually(() => model.textContent()).toMatch(/60\.0, lowest 60\.0 \(day\)75\.0 \(12 pictures\).*b-none$/);
  // Once its estimate is written, the model itself shows it, and the mistakes of the same pictures.
  const wrong = { part: "held out", domain: "dusk", path: "dusk/cat/1.png", label: "cat", predicted: "dog" };
  const assessed = JSON.parse(readFileSync(join(folder, "a-none", "assessment.json"), "utf8"));
  const domains = [0.9, 0.6, 0.75].map((accuracy, i) => ({ ...assessed.domains[i], part: "held out", accuracy }));
  const mostWrong = [{ ...wrong, confidence: 0.98, truth: 0.01, loss: 4.6 }];
  writeFile(folder, "a-none/estimate.json", JSON.stringify({ ...assessed, domains, mostWrong }));
  await page.goto(`${url}#/run/a-none`);
  await page.getByText("New domain, estimate: lowest (dusk)60.0 %").waitFor();
  await page.getByText("New domain, estimate: mean75.0 %").waitFor();
  await page.getByRole("tab", { name: "Mistakes" }).click();
  await page.getByText("On held-out domains, sorted by the probability of the true class").waitFor();
  await page.getByText("predicted dog, 98.0").waitFor();
});

withBrowser("the cells of a sweep fill as its runs finish", async () => {
  const folder = temporaryFolder();
  writeManyRuns(folder, { count: 16, made: 6 });
  const { url } = await startDashboardProcess(folder);
  const page = await open(`${url}#/sweeps`);
  await page.getByText("6 of 16 runs done").waitFor();
  await eventually(() => page.locator("a.cell").count()).toBe(16);
  await eventually(() => page.locator("a.cell.done").count()).toBe(6);
  writeManyRuns(folder, { count: 16, made: 11 });
  await eventually(() => page.locator("a.cell.done").count()).toBe(11);
  await page.getByText("11 of 16 runs done").waitFor();
});

withBrowser("the boundaries of the toy task move during training, and moving a slider trains again", async () => {
  const { url } = await startDashboardProcess(temporaryFolder());
  const page = await open(`${url}#/toy`);
  const boundary = page.locator(".boundary.strong");
  const place = (): Promise<string | null> => boundary.getAttribute("x1");
  const first = await place();
  await eventually(place).not.toBe(first);
  const second = await place();
  await eventually(place).not.toBe(second);
  await eventually(() => page.locator(".points > *").count()).toBe(100);
  const n = page.getByLabel("Training points, n");
  await n.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("PageDown");
  await eventually(() => page.locator(".points > *").count()).toBeLessThan(100);
  await page.getByRole("radio", { name: "identity" }).check();
  const moment = page.getByLabel("Training step");
  await page.getByText(/^step [1-9]/).waitFor();
  await moment.fill("1000");
  await page.getByText("step 2,000").waitFor();
  const out = page.getByRole("row", { name: /^Accuracy out of domain/ }).getByRole("cell");
  const [erm, nu] = await out.allTextContents();
  expect([Number(erm) > 50, Number(nu) > 50]).toEqual([true, true]);
  // Back to an earlier moment by hand.
  await moment.fill("0");
  await page.getByText("step 0").waitFor();
});

withBrowser("the page works with the keyboard, and its theme can be set to light or dark", async () => {
  const folder = temporaryFolder();
  writePacsSweep(join(folder, "runs"));
  const { url } = await startDashboardProcess(folder);
  const page = await open(url, { colorScheme: "light" });
  await page.getByText("24 runs.").waitFor();
  const ground = (): Promise<string> =>
    page.evaluate("getComputedStyle(document.body).backgroundColor") as Promise<string>;
  const light = await ground();
  const theme = page.getByRole("button", { name: /Theme/ });
  await theme.click();
  await theme.click(); // light, then dark
  await eventually(ground).not.toBe(light);
  await page.reload();
  await eventually(ground).not.toBe(light); // remembered

  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await rows(page).first().focus();
  await page.keyboard.press("End");
  await eventually(() => page.evaluate("document.activeElement.getAttribute('aria-rowindex')")).toBe("25");
  await page.keyboard.press("Enter");
  const tabs = page.getByRole("tab");
  await tabs.first().focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("log").waitFor();
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Log");
  await page.goBack();
  await page.getByText("24 runs.").waitFor();
});

withBrowser("rows are read in the order in which they are shown, and a row that moves keeps the focus", async () => {
  const folder = temporaryFolder();
  for (const name of ["one", "two", "three"]) writeRun(join(folder, name), { done: false });
  const { url } = await startDashboardProcess(folder);
  const page = await open(url);
  await eventually(() => rows(page).count()).toBe(3);
  const ids = (): Promise<unknown> => page.evaluate("[...document.querySelectorAll('.row')].map((row) => row.title)");
  const before = (await ids()) as string[];
  await rows(page).first().focus();
  // The last one is evaluated once more, so it goes to the top.
  const late = join(folder, before[2]);
  const record = { step: 1, model: "current", domain: "sketch", split: "in", metric: "accuracy", value: 0.5 } as const;
  appendFileSync(join(late, "records.jsonl"), formatRecord(record));
  writeFile(late, "log.txt", "once more"); // which changes the folder
  await eventually(ids).toEqual([before[2], before[0], before[1]]);
  expect(await page.evaluate("document.activeElement.title")).toBe(before[0]);
  await page.keyboard.press("ArrowUp");
  await eventually(() => page.evaluate("document.activeElement.title")).toBe(before[2]);
});

withBrowser("names and logs that look like markup or URLs are shown as text", async () => {
  const folder = temporaryFolder();
  const bad = "<img src=x onerror=alert(1)>";
  const name = "100% a+b #1 ü 'x' \"y\"";
  const settings = { dataset: bad, algorithm: `"><script>alert(2)</script>`, domains: [bad, "b"], testDomains: [bad] };
  const records = [bad, "b"].flatMap((domain) =>
    (["in", "out"] as const).map((split) => ({ step: 0, model: bad, domain, split, metric: "accuracy", value: 0.5 })),
  );
  const run = writeRun(join(folder, name), { settings, records });
  writeFile(run, "log.txt", `${bad}\njavascript:alert(3)\n`);
  const { url } = await startDashboardProcess(folder);
  const page = await open(url);
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs++;
    void dialog.dismiss();
  });
  await rows(page).getByText(`${bad} held out`).click();
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByRole("log").getByText("javascript:alert(3)").waitFor();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("link", { name: "Compare (1)" }).click();
  await page.locator("figure").getByText(bad).first().waitFor();
  await page.getByRole("link", { name: "Tables" }).click();
  await page.getByRole("heading", { name: bad }).waitFor();
  expect(dialogs).toBe(0);
  expect(await page.locator("img, script:not([src])").count()).toBe(0);
});

withBrowser("the page reports that the server has stopped, and reconnects to a new one", async () => {
  const folder = temporaryFolder();
  const { url, pid } = await startDashboardProcess(folder);
  const page = await browser!.newPage();
  onTestFinished(() => page.close());
  await page.goto(url);
  await page.getByText("live", { exact: true }).waitFor({ timeout: SLOW });
  process.kill(pid, "SIGTERM");
  await page.getByText("is nudge dashboard still running?").waitFor({ timeout: SLOW });
  await startDashboardProcess(folder, { port: Number(new URL(url).port) });
  await page.getByText("live", { exact: true }).waitFor({ timeout: SLOW });
});

test.skipIf(!browser || !process.env.NUDGE_LONG)(
  "ten thousand runs are listed, searched, scrolled and followed (NUDGE_LONG=1; prints measurements)",
  async () => {
    const folder = temporaryFolder();
    const runs = writeManyRuns(folder, { count: 10_000, evaluations: 17 });
    const { url, pid } = await startDashboardProcess(folder);
    const page = await open(url);
    const all = page.getByText("10,000 runs. Choose", { exact: false });
    const seconds = async (action: () => Promise<unknown>): Promise<string> => {
      const begun = performance.now();
      await action();
      return `${((performance.now() - begun) / 1000).toFixed(2)} s`;
    };
    const read = await seconds(async () => {
      await all.waitFor({ timeout: 120_000 });
      await eventually(async () => (await page.locator(".runs > .soft").textContent()) ?? "").not.toContain("Reading");
    });
    const again = await seconds(async () => {
      await page.reload();
      await all.waitFor();
    });
    const painted = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    expect(await rows(page).count()).toBeLessThan(60);

    const search = await seconds(async () => {
      await page.getByRole("searchbox").fill("mixup sketch trial2");
      await eventually(async () => (await rows(page).first().textContent()) ?? "").toMatch(/Mixup.*trial 2/);
    });
    await page.getByRole("searchbox").fill("");
    await rows(page).first().focus();
    const end = await seconds(async () => {
      await page.keyboard.press("End");
      await eventually(() => page.evaluate("document.activeElement.getAttribute('aria-rowindex')")).toBe("10001");
    });
    expect(await rows(page).count()).toBeLessThan(60);

    const tables = await seconds(() => fetch(`${url}api/report`).then((response) => response.text()));
    const oracle = await seconds(() => fetch(`${url}api/report?selection=oracle`).then((response) => response.text()));
    const before = cpuSeconds(pid);
    await new Promise((done) => setTimeout(done, 10_000));
    const idle = ((cpuSeconds(pid) - before) * 10).toFixed(1);

    // One of them goes on: removed, and begun anew under a lock of this process.
    const run = join(folder, "runs", runs[0].name);
    rmSync(join(run, "done"));
    using _lock = await FolderLock.take(join(run, "lock"));
    await page.getByRole("searchbox").fill(runs[0].id);
    await rows(page).getByText("running").waitFor({ timeout: 90_000 });
    const step = {
      step: 4_999,
      model: "current",
      domain: "sketch",
      split: "in",
      metric: "accuracy",
      value: 0.5,
    } as const;
    const update = await seconds(async () => {
      appendFileSync(join(run, "records.jsonl"), formatRecord(step));
      await rows(page).getByText("5,000 / 5,001").waitFor();
    });
    const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
    console.info(
      `10,000 runs: all read and listed after ${read}; opened again: painted after ${(Number(painted) / 1000).toFixed(2)} s, listed after ${again}; ` +
        `search ${search}, to the end ${end}; tables ${tables}, then ${oracle}; a new evaluation shown after ${update}; ` +
        `server ${memory.toFixed(0)} MB, ${idle} % of a core while watched`,
    );
    rmSync(folder, { recursive: true }); // takes longer than what runs after a test may
  },
  300_000,
);

/** The processor time a process has used. */
function cpuSeconds(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13);
  return (Number(user) + Number(system)) / 100; // in hundredths of a second, on every Linux of today
}
