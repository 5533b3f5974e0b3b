/** `nudge doctor`: reports the engine, devices, threads and versions, what is wrong, and how to fix it. */

import { basename } from "node:path";
import { Command } from "commander";
import { packageRoot } from "../engine/build-folder.js";
import { UsageError } from "../errors.js";
import { version } from "../library/version.js";
import type { Check } from "../training/self-test.js";
import { type Facts, gatherFacts } from "./doctor-facts.js";
import { findProblems, type Problem } from "./doctor-problems.js";

const gibibytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** The facts as rows of two columns. */
export function factRows({ nudge, node, platform, addon, engine, setup, cores, memory }: Facts): [string, string][] {
  const place = addon.path.startsWith(`${packageRoot}/`) ? addon.path.slice(packageRoot.length + 1) : addon.path;
  const state =
    addon.error === null ? `loads in ${addon.seconds.toFixed(1)} s` : addon.exists ? "does not load" : "missing";
  const rows: [string, string][] = [
    ["nudge", nudge],
    ["node", `${node}, ${platform}`],
    ["addon", `${place}, ${state}`],
  ];
  if (engine) {
    const { settings, blas, gpus } = engine;
    const cpu = [
      `${engine.threads} of ${cores} cores used`,
      ...(settings.cpuCapability ? [settings.cpuCapability] : []),
    ];
    rows.push(
      ["libtorch", `${engine.version}${setup ? ` from ${setup.libtorch.origin}` : ""}, ${engine.library}`],
      ["oneDNN", settings.oneDnn ?? "no"],
      ["BLAS", blas.path ? `${blas.name}, ${blas.path}` : blas.name],
      ["OpenMP", settings.openMp ? "yes" : "no"],
      ["CUDA", settings.cuda ?? (engine.builtForCuda ? "yes" : "no")],
      ["cpu", cpu.join(", ")],
      ...gpus.map((gpu, i): [string, string] => [
        `cuda:${i}`,
        `${gpu.name}, ${gibibytes(gpu.memory)}, compute capability ${gpu.capability}, ${gpu.kernelsProblem ? `no fused kernels: ${gpu.kernelsProblem}` : "fused kernels"}`,
      ]),
    );
  } else if (setup)
    rows.push(["libtorch", `${setup.libtorch.version} from ${setup.libtorch.origin}, ${setup.libtorch.lib}`]);
  if (setup) rows.push(["compiler", compilerInWords(setup)]);
  rows.push(["memory", `${gibibytes(memory.available)} free of ${gibibytes(memory.total)}`]);
  return rows;
}

/** `g++ 12.2.0, C++17` */
function compilerInWords({ compiler: { command, version }, libtorch }: NonNullable<Facts["setup"]>): string {
  if (command.length === 0) return "none: the addon was built elsewhere";
  return `${command.map((word) => basename(word)).join(" ")} ${version}, C++${libtorch.std}`;
}

/** The report as text: the facts, then each problem with its fix. */
export function reportText(facts: Facts, problems: readonly Problem[]): string {
  const rows = factRows(facts);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const wrong = problems.map(({ severity, what, remedy }) => `${severity}: ${what}\n  fix: ${remedy}`);
  return [...lines, "", ...(wrong.length > 0 ? wrong : ["no problems found"])].join("\n");
}

export function doctorCommand(): Command {
  return new Command("doctor")
    .description(
      "Reports the engine, devices, threads and versions, what is wrong, and how to fix it. The exit code is 1 if NUDGE cannot run.",
    )
    .option(
      "--full",
      "also run training checks: every algorithm compared with the CPU, CUDA graph replay compared with plain updates, real networks in bfloat16, and memory use",
    )
    .option("--device <device>", "the device for --full: cpu, cuda or cuda:1 (default: the first GPU)")
    .option("--only <text>", "with --full: run only the checks whose name contains this text, such as ADRMX or kernel")
    .option("--json", "print the facts and problems as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge doctor                          report on this machine
  nudge doctor --device cuda --full     check whether its GPU trains correctly (a few minutes)
  nudge doctor --full --only ADRMX      repeat the checks of one algorithm`,
    )
    .action(async ({ json, full, device, only }: { json?: true; full?: true; device?: string; only?: string }) => {
      if (device !== undefined && !full)
        throw new UsageError("--device selects the device for --full; add --full or remove --device");
      if (only !== undefined && !full)
        throw new UsageError("--only selects checks of --full; add --full or remove --only");
      const facts = gatherFacts(version());
      const problems = findProblems(facts);
      if (!json) process.stdout.write(`${reportText(facts, problems)}\n`);
      const wrong = problems.some(({ severity }) => severity === "error");
      const checks = full && !wrong ? await runSelfTest(device, { print: !json, only }) : undefined;
      if (json) process.stdout.write(`${JSON.stringify({ ...facts, problems, checks }, null, 2)}\n`);
      if (wrong || checks?.some(({ ok }) => !ok)) process.exitCode = 1;
    });
}

/** Runs the self-test on a device and prints each check when it is finished. */
async function runSelfTest(
  requested: string | undefined,
  { print, only }: { print: boolean; only?: string },
): Promise<Check[]> {
  const [{ selfTest }, { defaultDevice, devices }] = await Promise.all([
    import("../training/self-test.js"),
    import("../engine/device.js"),
  ]);
  const device = requested === undefined || requested === "cuda" ? defaultDevice() : requested;
  if (!devices().includes(device) || (requested === "cuda" && device === "cpu"))
    throw new UsageError(`--device ${requested}: no such device; this machine has ${devices().join(", ")}`);
  const writeLine = (text: string): void => {
    if (print) process.stdout.write(`${text}\n`);
  };
  writeLine(`\ntraining on ${device}:`);
  const checks: Check[] = [];
  const began = performance.now();
  for (const check of selfTest(device, { only })) {
    checks.push(check);
    writeLine(`${check.ok ? "ok   " : "FAIL "}  ${check.name}: ${check.detail}`);
  }
  if (checks.length === 0)
    throw new UsageError(`--only ${only}: no check has this text in its name; without --only, all names are printed`);
  const failed = checks.filter(({ ok }) => !ok).length;
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const verdict = failed === 0 ? `all ${checks.length} checks passed` : `${failed} of ${checks.length} checks failed`;
  writeLine(`${verdict} in ${seconds} s`);
  return checks;
}
