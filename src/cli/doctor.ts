/** `nudge doctor`: engine, devices, threads, versions; what is wrong and how to mend it. */

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
  if (setup)
    rows.push([
      "compiler",
      `${setup.compiler.command.map((word) => basename(word)).join(" ")} ${setup.compiler.version}, C++${setup.libtorch.std}`,
    ]);
  rows.push(["memory", `${gibibytes(memory.available)} free of ${gibibytes(memory.total)}`]);
  return rows;
}

/** The report as text: the facts, then each problem with its remedy. */
export function reportText(facts: Facts, problems: readonly Problem[]): string {
  const rows = factRows(facts);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const wrong = problems.map(({ severity, what, remedy }) => `${severity}: ${what}\n  mend it: ${remedy}`);
  return [...lines, "", ...(wrong.length > 0 ? wrong : ["nothing is wrong"])].join("\n");
}

export function doctorCommand(): Command {
  return new Command("doctor")
    .description(
      "Tells what the engine is and runs on, what is wrong with it, and how to mend that. Exits with 1 where it cannot run.",
    )
    .option(
      "--full",
      "also train: every algorithm against the CPU, replayed against plain updates, on real networks in bfloat16, and memory",
    )
    .option("--device <device>", "what --full trains on: cpu, cuda or cuda:1; the first GPU unless told")
    .option("--json", "print the facts and problems as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge doctor                          what this machine has
  nudge doctor --device cuda --full     whether its GPU trains correctly; a few minutes`,
    )
    .action(async ({ json, full, device }: { json?: true; full?: true; device?: string }) => {
      if (device !== undefined && !full)
        throw new UsageError("--device says what --full trains on: give --full too, or leave it out");
      const facts = gatherFacts(version());
      const problems = findProblems(facts);
      if (!json) process.stdout.write(`${reportText(facts, problems)}\n`);
      const wrong = problems.some(({ severity }) => severity === "error");
      const checks = full && !wrong ? await runSelfTest(device, { print: !json }) : undefined;
      if (json) process.stdout.write(`${JSON.stringify({ ...facts, problems, checks }, null, 2)}\n`);
      if (wrong || checks?.some(({ ok }) => !ok)) process.exitCode = 1;
    });
}

/** Runs the self-test on a device, and prints each check as it is done. */
async function runSelfTest(asked: string | undefined, { print }: { print: boolean }): Promise<Check[]> {
  const [{ selfTest }, { defaultDevice, devices }] = await Promise.all([
    import("../training/self-test.js"),
    import("../engine/device.js"),
  ]);
  const device = asked === undefined || asked === "cuda" ? defaultDevice() : asked;
  if (!devices().includes(device) || (asked === "cuda" && device === "cpu"))
    throw new UsageError(`--device ${asked}: there is none; this machine has ${devices().join(", ")}`);
  const tell = (text: string): void => {
    if (print) process.stdout.write(`${text}\n`);
  };
  tell(`\ntraining on ${device}:`);
  const checks: Check[] = [];
  const began = performance.now();
  for (const check of selfTest(device)) {
    checks.push(check);
    tell(`${check.ok ? "ok   " : "WRONG"}  ${check.name}: ${check.detail}`);
  }
  const failed = checks.filter(({ ok }) => !ok).length;
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const verdict = failed === 0 ? `all ${checks.length} checks passed` : `${failed} of ${checks.length} checks failed`;
  tell(`${verdict} in ${seconds} s`);
  return checks;
}
