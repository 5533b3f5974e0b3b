/** `nudge doctor`: engine, devices, threads, versions; what is wrong and how to mend it. */

import { basename } from "node:path";
import { Command } from "commander";
import { type Facts, gatherFacts, root } from "./doctor-facts.js";
import { findProblems, type Problem } from "./doctor-problems.js";
import { version } from "./version.js";

const gibibytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** The facts as rows of two columns. */
export function factRows({ nudge, node, platform, addon, engine, setup, cores, memory }: Facts): [string, string][] {
  const place = addon.path.startsWith(`${root}/`) ? addon.path.slice(root.length + 1) : addon.path;
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
        `${gpu.name}, ${gibibytes(gpu.memory)}, compute capability ${gpu.capability}`,
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
    .option("--json", "print the facts and problems as JSON")
    .action(({ json }: { json?: true }) => {
      const facts = gatherFacts(version());
      const problems = findProblems(facts);
      process.stdout.write(
        json ? `${JSON.stringify({ ...facts, problems }, null, 2)}\n` : `${reportText(facts, problems)}\n`,
      );
      if (problems.some(({ severity }) => severity === "error")) process.exitCode = 1;
    });
}
