#!/usr/bin/env node
/**
 * Plans a block of the study "rank or scale" (docs/study.md, blocks.mjs) into a sweep's folder, which `nudge sweep run` then works on. Planned
 * again it changes nothing; with more trials it keeps what is there.
 *
 *     node studies/rank-or-scale/plan.mjs primary --root data                     PACS, trials 3 to 7, in sweeps/study-pacs
 *     node studies/rank-or-scale/plan.mjs dataset --root data                     Office-31, trials 1 to 5, in sweeps/study-office31
 *     node studies/rank-or-scale/plan.mjs controls --root data --calibrate        first the runs that set the weights of a block
 *     node studies/rank-or-scale/plan.mjs controls --root data --calibration sweeps/calibration-controls      then the block, with these
 *     export NUDGE_PLUGINS=…      printed at the end: sweep run and report need the study's plug-ins
 *
 * Another dataset is another --data, another backbone another --backbone. Penalties that are matched in scale need a weight for each dataset and
 * backbone: from --calibration, a finished calibration, or else from WEIGHTS in blocks.mjs. A block that needs a weight that is not there is not planned.
 * --only ERM,ERM-NU plans these methods of the block, and with --calibrate, --values 0.3,1 calibrates them with these values.
 * Runs are planned trial by trial, so that a sweep that is stopped has whole trials. What follows `--` goes to every `nudge sweep plan`, such as
 * `-- --steps 300`.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";
import { loadPlugins } from "../../dist/cli/plugins.js";
import { planSweep } from "../plan-sweep.mjs";
import { BLOCKS, keyOf, WEIGHTS } from "./blocks.mjs";
import { calibrate } from "./calibration.mjs";
import { nudge, plugins, runsOf, stop, top } from "./study.mjs";

const split = process.argv.indexOf("--");
const more = split < 0 ? [] : process.argv.slice(split + 1);
const { positionals, values } = parseArgs({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  allowPositionals: true,
  options: {
    data: { type: "string" },
    root: { type: "string" },
    backbone: { type: "string" },
    trials: { type: "string" },
    out: { type: "string" },
    only: { type: "string" },
    calibrate: { type: "boolean" },
    calibration: { type: "string" },
    values: { type: "string" },
  },
});
const [name = ""] = positionals;
if (!Object.hasOwn(BLOCKS, name))
  stop(
    `plan: expected a block:\n${Object.entries(BLOCKS)
      .map(([id, { about }]) => `  ${id.padEnd(10)} ${about}`)
      .join("\n")}`,
  );
const block = BLOCKS[name];
const { data = block.data ?? "pacs", backbone = block.backbone ?? "mobilenet_v2", root, only } = values;
const folder = block.out ?? `sweeps/study-${data}`;
const out = values.out ?? (values.calibrate ? folder.replace("sweeps/study-", "sweeps/calibration-") : folder);
const [first = 0, last = first] = (values.trials ?? (values.calibrate ? "0" : block.trials)).split("-").map(Number);
if (!(first <= last)) stop(`plan: expected --trials as a range such as 3-7, got ${values.trials}`);

const names = only?.split(",") ?? block.rows.map((row) => row.name);
const unknown = names.find((each) => !block.rows.some((row) => row.name === each));
if (unknown !== undefined)
  stop(`plan: expected methods among ${block.rows.map((row) => row.name).join(", ")}, got "${unknown}"`);
const chosen = block.rows.filter((row) => names.includes(row.name));

/** The rows of a calibration: ERM-NU, whose scale is the target, ERM if its accuracy is needed, and each calibrated row with all its values. */
function calibrationRows() {
  const calibrated = chosen.filter(({ setting }) => setting !== undefined);
  if (calibrated.length === 0) stop(`plan: no method of block ${name} has a value to calibrate`);
  const compared = [...(calibrated.some(({ by }) => by === "accuracy") ? ["ERM"] : []), "ERM-NU"];
  return [
    ...compared.map((method) => ({ method, settings: /** @type {string[]} */ ([]) })),
    ...calibrated.map(({ name, method = name, settings = [], setting, values: own = [] }) => ({
      method,
      settings: [...settings, "--grid", `${setting}=${values.values ?? own.join(",")}`],
    })),
  ];
}

/** The rows of the block with their calibrated values; it stops if one is missing. */
function plannedRows() {
  const { weights, problems } = values.calibration
    ? calibrate(runsOf(values.calibration))
    : { weights: WEIGHTS[keyOf(data, backbone)], problems: [] };
  const missing = chosen.filter((row) => row.setting !== undefined && weights?.[row.name] === undefined);
  if (missing.length > 0) {
    const names = missing.map((row) => row.name).join(",");
    const same = [name, "--data", data, ...(root ? ["--root", root] : []), "--backbone", backbone].join(" ");
    stop(
      [
        `plan: ${names}: not calibrated for ${data} with ${backbone} yet, so nothing is planned.`,
        ...problems,
        `Calibrate first, in trial 0: node studies/rank-or-scale/plan.mjs ${same} --only "${names}" --calibrate`,
        `Run that sweep, then plan with its weights: node studies/rank-or-scale/plan.mjs ${same} --calibration <its folder>`,
        "Or plan the other methods of the block with --only.",
      ].join("\n"),
    );
  }
  return chosen.map(({ name, method = name, settings = [], setting }) => ({
    method,
    settings: [...settings, ...(setting === undefined ? [] : [`${setting}=${weights[name]}`])],
  }));
}

const rows = values.calibrate ? calibrationRows() : plannedRows();
if (block.pack && !existsSync(out)) nudge(["unpack", join(top, block.pack), "--out", out]);
const where = ["--data", data, ...(root ? ["--root", root] : []), "--backbone", backbone, "--out", out];
const sweepName = `study-${block.out ? name : data}`;
let [asked, added, done] = [0, 0, 0];
// Methods without settings of their own are planned together.
const plain = rows.filter(({ settings }) => settings.length === 0).map(({ method }) => method);
const together = [
  ...(plain.length > 0 ? [{ method: plain.join(","), settings: [] }] : []),
  ...rows.filter(({ settings }) => settings.length > 0),
];
await loadPlugins(plugins.split(delimiter));
for (let trial = first; trial <= last; trial++)
  for (const { method, settings } of together) {
    const words = [...where, "--name", sweepName, "--trials", `${trial}-${trial}`];
    const planned = await planSweep([...words, "--algorithms", method, ...block.options, ...settings, ...more]);
    asked += planned.asked;
    added += planned.added;
    done += planned.done;
  }
process.stdout.write(
  `${asked} runs in ${out}: ${added} of them new, ${done} done\nexport NUDGE_PLUGINS=${plugins}\nnudge sweep run ${out}\n`,
);
