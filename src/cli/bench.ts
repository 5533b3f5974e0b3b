/** `nudge bench`: the benchmarks behind every speed figure in the docs, each beside its peer in the same run. */

import { Command } from "commander";
import { UsageError } from "../errors.js";

interface Common {
  device: string;
  peer?: string | true;
  json?: true;
}

export function benchCommand(): Command {
  const bench = new Command("bench")
    .description("Times our work and, with --peer, PyTorch's in the same run. Machines are noisy: read the ratios.")
    .addHelpText(
      "after",
      examples("ops --peer", "step --backbone mobilenet_v2 --peer", "nuclear-norm --device cuda:0"),
    );
  common(bench.command("ops"))
    .description("Times one small operator call (a 4×4 add without gradients), in nanoseconds.")
    .addHelpText("after", examples("ops", "ops --peer", "ops --peer ~/venv/bin/python"))
    .action(async ({ device, peer, json }: Common) => {
      const { benchOps } = await import("../bench/ops.js");
      const { opsText } = await import("./bench-ops.js");
      const result = await benchOps({ device, peer: peerName(peer) });
      print(json ? JSON.stringify(result) : opsText(result));
    });
  common(bench.command("step"))
    .description(
      "Times one training step: forward, cross-entropy, backward, Adam, on pictures already in memory; with --algorithm, one update of an algorithm beside one of ERM.",
    )
    .addHelpText(
      "after",
      examples("step --peer", "step --backbone mobilenet_v2 --batch 32 --peer", "step --algorithm all"),
    )
    .option("--algorithm <id>", "time an algorithm's update, or with all everyone's, relative to ERM's")
    .option("--backbone <id>", "what is trained (default: resnet50; with --algorithm mobilenet_v2)")
    .option("--batch <n>", "pictures a step (default: 8); with --algorithm of each of three domains (default: 2)")
    .option("--repeats <n>", "rounds; the fastest counts (default: 6; with --algorithm 3)")
    .option("--compile", "on a GPU, time torch.compile too")
    .action(async ({ device, json, algorithm, ...raw }: Common & StepFlags) => {
      if (algorithm !== undefined) {
        if (raw.peer !== undefined || raw.compile)
          throw new UsageError("bench step --algorithm is beside ERM, not PyTorch: leave out --peer and --compile");
        const { benchAlgorithms } = await import("../bench/algorithms.js");
        const { algorithmsText } = await import("./bench-algorithms.js");
        const { backbone = "mobilenet_v2", batch = "2", repeats = "3" } = raw;
        const counts = { batch: count("batch", batch), repeats: count("repeats", repeats) };
        const result = benchAlgorithms({ algorithm, backbone, device, ...counts });
        print(json ? JSON.stringify(result) : algorithmsText(result));
        return;
      }
      const { benchStep } = await import("../bench/step.js");
      const { stepText } = await import("./bench-step.js");
      const { backbone = "resnet50", batch = "8", repeats = "6", compile } = raw;
      const counts = { batch: count("batch", batch), repeats: count("repeats", repeats) };
      const result = await benchStep({ backbone, ...counts, device, compile, peer: peerName(raw.peer) });
      print(json ? JSON.stringify(result) : stepText(result));
    });
  common(bench.command("nuclear-norm"))
    .description("Times the penalty's value and gradient by each route beside torch.svd, at the sizes of real batches.")
    .addHelpText("after", examples("nuclear-norm", "nuclear-norm --peer --repeats 100"))
    .option("--repeats <n>", "rounds; the fastest counts", "30")
    .action(async ({ device, peer, json, repeats }: Common & { repeats: string }) => {
      const { benchNuclearNorm } = await import("../bench/nuclear-norm.js");
      const { nuclearNormText } = await import("./bench-nuclear-norm.js");
      const result = await benchNuclearNorm({ device, peer: peerName(peer), repeats: count("repeats", repeats) });
      print(json ? JSON.stringify(result) : nuclearNormText(result));
    });
  common(bench.command("loader"))
    .description(
      "Times pictures from files to augmented batches, cold and cached, and how long training waits for them.",
    )
    .addHelpText("after", examples("loader --data data/PACS", "loader --data ./pictures --peer --backbone none"))
    .requiredOption("--data <dir>", "a folder of pictures, or a dataset's name")
    .option("--root <dir>", "the folder a named dataset lies in")
    .option("--batch <n>", "pictures of each domain in a batch", "32")
    .option("--steps <n>", "batches a round", "8")
    .option("--repeats <n>", "rounds; the best counts", "3")
    .option("--workers <n>", "worker processes of the peer's loader (default: one a core)")
    .option("--backbone <id>", "what to train for the share of waiting, or none", "mobilenet_v2")
    .option("--cache <dir>", "the cache's folder (default: one that is removed afterwards)")
    .action(async (raw: Common & LoaderFlags) => {
      const { benchLoader } = await import("../bench/loader.js");
      const { loaderText } = await import("./bench-loader.js");
      const { data, root, device, cache, backbone } = raw;
      const result = await benchLoader({
        ...{ data, root, device, cache, peer: peerName(raw.peer) },
        ...(backbone !== "none" && { backbone }),
        ...(raw.workers !== undefined && { workers: count("workers", raw.workers) }),
        batch: count("batch", raw.batch),
        steps: count("steps", raw.steps),
        repeats: count("repeats", raw.repeats),
      });
      print(raw.json ? JSON.stringify(result) : loaderText(result));
    });
  common(bench.command("train"))
    .description(
      "Times training end to end, from picture files to updated weights, and an evaluation of all splits; with --peer, DomainBed's loop too.",
    )
    .addHelpText(
      "after",
      examples(
        "train --data data/PACS --backbone resnet50 --device cuda:0 --precision bf16 --peer",
        "train --data ./pictures --algorithm ERM-NU --limit 100 --batch 8 --steps 10",
      ),
    )
    .requiredOption("--data <dir>", "a folder of pictures, or a dataset's name")
    .option("--root <dir>", "the folder a named dataset lies in")
    .option("--test-domain <name>", "the domain held out (default: the first)")
    .option("--limit <n>", "at most n pictures of each domain, evenly from all of them")
    .option("--algorithm <name>", "what is trained; beside the peer ERM or ERM-NU", "ERM")
    .option("--backbone <id>", "what is trained", "mobilenet_v2")
    .option("--weights <file>", "what the backbone starts from (default: random weights)")
    .option("--precision <word>", "of our products and convolutions, float32 or bf16; the peer's is float32", "float32")
    .option("--batch <n>", "pictures of each training domain in a batch", "32")
    .option("--steps <n>", "steps that are timed", "100")
    .option("--workers <n>", "worker processes of each of the peer's loaders (default: one a core, at most 8)")
    .option("--cache <dir>", "the cache's folder (default: one that is removed afterwards)")
    .action(async ({ peer, json, batch, steps, workers, limit, ...rest }: Common & TrainFlags) => {
      const { benchTrain } = await import("../bench/train.js");
      const { trainText } = await import("./bench-train.js");
      const result = await benchTrain({
        ...{ ...rest, peer: peerName(peer), batch: count("batch", batch), steps: count("steps", steps) },
        ...(workers !== undefined && { workers: count("workers", workers) }),
        ...(limit !== undefined && { limit: count("limit", limit) }),
      });
      print(json ? JSON.stringify(result) : trainText(result));
    });
  return bench;
}

interface StepFlags {
  algorithm?: string;
  backbone?: string;
  batch?: string;
  repeats?: string;
  compile?: true;
}

interface LoaderFlags {
  data: string;
  root?: string;
  batch: string;
  steps: string;
  repeats: string;
  workers?: string;
  backbone: string;
  cache?: string;
}

interface TrainFlags {
  data: string;
  root?: string;
  testDomain?: string;
  limit?: string;
  algorithm: string;
  backbone: string;
  weights?: string;
  precision: string;
  batch: string;
  steps: string;
  workers?: string;
  cache?: string;
}

/** Examples as help prints them. */
const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  nudge bench ${line}`).join("\n")}`;

/** The options all benchmarks share. */
function common(command: Command): Command {
  return command
    .option("--device <device>", "cpu, or cuda:0", "cpu")
    .option("--peer [python]", "time PyTorch too, from this Python (default: python3)")
    .option("--json", "print the figures as JSON");
}

const peerName = (peer: string | true | undefined): string | undefined => (peer === true ? "python3" : peer);

function count(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`--${name}: expected a whole number from 1, got "${text}"`);
  return value;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
