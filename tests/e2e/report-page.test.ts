/** The report's page in a browser, where one is installed: it is laid out without a script and without any request. */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readResults } from "../../src/records/index.js";
import { makeReport, writeReport } from "../../src/report/index.js";
import { temporaryFolder } from "../support/picture-folder.js";
import { writePacsSweep } from "../support/report-runs.js";

const browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** Opens a page; what it became, and who asked for addresses meanwhile (the browser itself is "not an origin"). */
function open(page: string): { dom: string; askers: string[] } {
  const folder = temporaryFolder();
  const log = join(folder, "net.json");
  const quiet = "--no-first-run --disable-background-networking --disable-component-update --disable-sync";
  const options = `--headless --no-sandbox --disable-gpu --disable-quic ${quiet} --log-net-log=${log}`;
  const dom = execFileSync(
    browser!,
    [...options.split(" "), `--user-data-dir=${join(folder, "profile")}`, "--dump-dom", `file://${page}`],
    { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 30_000 },
  );
  const askers = readFileSync(log, "utf8").match(/"initiator":"[^"]*"/g) ?? [];
  return { dom, askers: askers.filter((asker) => asker !== '"initiator":"not an origin"') };
}

test.skipIf(browser === undefined)(
  "a browser shows the page, which asks for nothing (needs Chromium)",
  () => {
    const folder = temporaryFolder();
    writePacsSweep(join(folder, "runs"));
    const [page] = writeReport(makeReport(readResults([join(folder, "runs")]), { claims: true }), folder, ["html"]);
    const { dom, askers } = open(page);
    expect(dom).toContain('<td class="best">82.0 ± 0.7</td>');
    expect(dom.match(/class="figure"/g)).toHaveLength(5);
    expect(askers).toEqual([]);
    const asking = join(folder, "asking.html"); // that the log would have shown it
    writeFileSync(asking, '<img src="http://127.0.0.1:9/picture.png">');
    expect(open(asking).askers).not.toEqual([]);
  },
  60_000,
);
