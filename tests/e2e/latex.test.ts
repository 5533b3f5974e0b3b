/** The report's LaTeX put through LaTeX itself, where it is installed: it compiles as it is, whatever names runs have. */

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeReport, type Report, toLatex } from "../../src/report/index.js";
import { readResults } from "../../src/report/read-results.js";
import { makeRun } from "../support/evaluated-runs.js";
import { temporaryFolder } from "../support/picture-folder.js";
import { writePacsSweep } from "../support/report-runs.js";

const missing = findMissing();
if (missing)
  console.warn(`skipping the compilation of tables: ${missing} is not installed (texlive-latex-recommended)`);

function findMissing(): string | undefined {
  if (spawnSync("pdflatex", ["--version"]).status !== 0) return "pdflatex";
  return spawnSync("kpsewhich", ["booktabs.sty"]).status === 0 ? undefined : "booktabs";
}

function pacs(): Report {
  const folder = temporaryFolder();
  writePacsSweep(folder);
  return makeReport(readResults([folder]), { published: true, claims: true });
}

/** Names as an unkind user may choose them. */
function hostile(): Report {
  const name = '<script>alert("1")</script>|*&_%$#{}\\~^`=1+1 é ń λ θ ‖F‖ ≥ − ± … “x” 中 ð --';
  const at = { [name]: [0.5, 0.5], b: [0.4, 0.4] } as const;
  const run = makeRun([name], [at, at], { algorithm: name, domains: [name, "b"], dataset: name });
  return makeReport({ runs: [run], stored: [], notes: [] });
}

test.skipIf(missing)("the tables compile with booktabs only (needs pdflatex)", () => {
  for (const [name, report] of Object.entries({ pacs: pacs(), hostile: hostile() })) {
    const folder = temporaryFolder();
    const source = `\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n${toLatex(report)}\n\\end{document}\n`;
    writeFileSync(join(folder, "report.tex"), source);
    const options = ["-interaction=nonstopmode", "-halt-on-error", "report.tex"];
    const { status, stdout } = spawnSync("pdflatex", options, { cwd: folder, encoding: "utf8" });
    expect(
      status,
      `${name}: ${stdout
        .split("\n")
        .filter((line) => line.startsWith("!"))
        .join("\n")}`,
    ).toBe(0);
    expect(stdout).not.toContain("Missing character");
    expect(readFileSync(join(folder, "report.pdf")).subarray(0, 5).toString()).toBe("%PDF-");
  }
});
