/**
 * Makes the files of a released version that later versions must read: run it once for a release, with that release's own program,
 * and commit what it writes. tests/released/released.test.ts reads all of them.
 *
 *     node tests/released/make.mjs PATH/bin/nudge.mjs tests/released/0.1.0
 *
 * Hosts and paths of the machine are taken out, and figures and event files are left out: no version reads those.
 */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [program, out] = process.argv.slice(2).map((path) => resolve(path));
const place = mkdtempSync(join(tmpdir(), "nudge-released-"));
const pictures = join(import.meta.dirname, "pictures");

/** @param {string} words */
const nudge = (words) =>
  execFileSync(process.execPath, [program, ...words.split(" ")], { cwd: place, stdio: ["ignore", "pipe", "inherit"] });

/** The only folder in a folder. @param {string} folder */
const only = (folder) => join(folder, readdirSync(folder).filter((name) => name !== "latest")[0]);

/** Copies the files of a run that are read again. @param {string} run @param {string} to */
function keepRun(run, to) {
  cpSync(run, to, {
    recursive: true,
    filter: (path) => !/\/(events|figures|lock|log\.txt|environment\.json)$/.test(path),
  });
}

const TINY =
  "--eval-every 3 --batch-size 4 --threads 1 --backbone toy-cnn data.perCell=2 data.size=16 checkpointEvery=2";
const TRAIN = `train --data shapes --test-domain textured --algorithm SWAD-NU --steps 9 ${TINY} warmup=2 swad.converge=2`;

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

// A run to its end, and the same run stopped on its way.
nudge(`${TRAIN} --out whole`);
keepRun(only(join(place, "whole")), join(out, "done-run"));
await new Promise((done) => {
  const child = spawn(process.execPath, [program, ...TRAIN.split(" "), "--out", "stopped"], { cwd: place });
  child.stderr.setEncoding("utf8").on("data", (text) => text.includes("step 3:") && child.kill("SIGTERM"));
  child.on("close", done);
});
keepRun(only(join(place, "stopped")), join(out, "stopped-run"));

// A sweep, and where there are packs, that of it.
nudge(
  `sweep plan --data shapes --test-domains textured --algorithms ERM --trials 2 --steps 4 --no-measure --out sweep ${TINY.replace("--threads 1 ", "")}`,
);
nudge("sweep run sweep --jobs 1 --threads 1");
for (const name of ["sweep.json", "plan.jsonl"]) cpSync(join(place, "sweep", name), join(out, "sweep", name));
for (const name of readdirSync(join(place, "sweep/runs"))) {
  keepRun(join(place, "sweep/runs", name), join(out, "sweep/runs", name));
  rmSync(join(out, "sweep/runs", name, "checkpoint"), { recursive: true });
}
try {
  nudge(`pack sweep --anonymous --out ${join(out, "sweep.nudge")}`);
} catch {
  process.stderr.write("this version has no packs\n");
}

// A cache of pictures.
nudge(
  `train --data ${pictures} --test-domain b --no-pretrained --backbone toy-cnn --steps 2 --batch-size 2 --threads 1 --out own cache=${join(place, "cache")}`,
);
cpSync(join(place, "cache"), join(out, "cache"), { recursive: true, filter: (path) => !/\/lock-/.test(path) });
for (const name of readdirSync(join(out, "cache"))) {
  const path = join(out, "cache", name);
  const text = readFileSync(path, "latin1");
  if (text.includes(pictures)) writeFileSync(path, text.replaceAll(pictures, "/data/pictures"), "latin1");
}
rmSync(place, { recursive: true });
