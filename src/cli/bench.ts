/** `nudge bench`: the benchmarks behind every speed figure in the docs. Each measures NUDGE and PyTorch in the same run. */

import { Command, Option } from "commander";
import type { DataBenchOptions } from "../bench/data.js";
import type { LoaderBenchOptions } from "../bench/loader.js";
import type { RunsBench } from "../bench/runs.js";
import type { SweepBenchOptions } from "../bench/sweep.js";
import type { TrainBenchOptions } from "../bench/train.js";
import { UsageError } from "../errors.js";
import { version } from "../library/version.js";
import { ownCommand } from "./own-command.js";

interface Common {
  device: string;
  peer?: string | true;
  json?: true;
}

export function benchCommand(): Command {
  const bench = new Command("bench")
    .description(
      "Measures the speed of NUDGE and, with --peer, of PyTorch in the same run. Timings vary with the load of the machine, so compare the ratios.",
    )
    .addHelpText(
      "after",
      examples("ops --peer", "step --backbone mobilenet_v2 --peer", "nuclear-norm --device cuda:0"),
    );
  common(bench.command("ops"))
    .description("Measures the time of one small operator call (a 4×4 add without gradients), in nanoseconds.")
    .addHelpText("after", examples("ops", "ops --peer", "ops --peer ~/venv/bin/python"))
    .action(async ({ device, peer, json }: Common) => {
      const { benchOps } = await import("../bench/ops.js");
      const { opsText } = await import("./bench-ops.js");
      const result = await benchOps({ device, peer: peerName(peer) });
      print(json ? JSON.stringify(result) : opsText(result));
    });
  common(bench.command("backbones"))
    .description(
      "Measures the time of one training step of several backbones, as nudge train runs it, on pictures already in memory. With --peer, compares with the fastest step of PyTorch: on a GPU torch.compile with the whole step in one CUDA graph (bf16, channels last, fused Adam), on the CPU eager mode.",
    )
    .addHelpText(
      "after",
      examples("backbones --backbone resnet50,vit_s_16 --peer", "backbones --batch 96 --device cuda:0 --peer --json"),
    )
    .option("--backbone <ids>", "the backbones (comma-separated), or all that have published weights", "all")
    .option("--batch <n>", "the batch size", "8")
    .option("--repeats <n>", "the number of rounds; the fastest one counts", "6")
    .action(async ({ device, json, peer, backbone, batch, repeats }: Common & Required<BackbonesFlags>) => {
      const { benchBackbones } = await import("../bench/backbones.js");
      const { backbonesText } = await import("./bench-backbones.js");
      const result = await benchBackbones({
        backbones: backbone === "all" ? "all" : backbone.split(",").map((id) => id.trim()),
        ...{ batch: count("batch", batch), repeats: count("repeats", repeats), device, peer: peerName(peer) },
        onStart: (id) => process.stderr.write(`measuring ${id}\n`),
      });
      print(json ? JSON.stringify(result) : backbonesText(result));
    });
  common(bench.command("step"))
    .description(
      "Measures the time of one training step (forward pass, cross-entropy, backward pass, Adam) on pictures already in memory. With --algorithm, compares one update of an algorithm with one update of ERM.",
    )
    .addHelpText(
      "after",
      examples(
        "step --peer",
        "step --backbone mobilenet_v2 --batch 32 --peer",
        "step --backbone vit_b_16 --batch 96 --device cuda:0 --profile",
        "step --algorithm all",
        "step --algorithm mldg,fish --batch 32 --device cuda:0",
      ),
    )
    .option(
      "--algorithm <ids>",
      "compare the updates of these algorithms, or of all algorithms (all), with that of ERM",
    )
    .option("--backbone <id>", "the backbone (default: resnet50; with --algorithm: mobilenet_v2)")
    .option("--batch <n>", "the batch size (default: 8); with --algorithm, per domain for three domains (default: 2)")
    .option(
      "--repeats <n>",
      "the number of rounds; the fastest one counts (default: 6; with --algorithm: 3, and ratios to ERM are medians)",
    )
    .option("--profile", "on a GPU, list the kernels of the step that nudge train runs, with their times")
    .option(
      "--threads <n>",
      "with --algorithm, the number of CPU threads; use 1 if the machine is busy (default: all cores)",
    )
    .option("--compile", "on a GPU, also measure torch.compile, and the compiled step captured as one CUDA graph")
    .action(async ({ device, json, algorithm, ...raw }: Common & StepFlags) => {
      checkProfile({ algorithm, ...raw });
      if (algorithm !== undefined) {
        if (raw.peer !== undefined || raw.compile)
          throw new UsageError(
            "bench step --algorithm compares with ERM and not with PyTorch; remove --peer and --compile",
          );
        const { benchAlgorithms } = await import("../bench/algorithms.js");
        const { algorithmsText } = await import("./bench-algorithms.js");
        const { backbone = "mobilenet_v2", batch = "2", repeats = "3" } = raw;
        const result = benchAlgorithms({
          algorithm,
          backbone,
          device,
          ...counts({ batch, repeats, threads: raw.threads }, "batch", "repeats", "threads"),
          onStart: (title) => process.stderr.write(`measuring ${title}\n`),
        });
        print(json ? JSON.stringify(result) : algorithmsText(result));
        return;
      }
      const { profileText, stepText } = await import("./bench-step.js");
      const { backbone = "resnet50", batch = "8", repeats = "6", compile } = raw;
      const numbers = counts({ batch, repeats }, "batch", "repeats");
      if (raw.profile) {
        const { profileStep } = await import("../bench/profile.js");
        const profile = profileStep({ backbone, batch: numbers.batch, device });
        return print(json ? JSON.stringify(profile) : profileText(profile));
      }
      const { benchStep } = await import("../bench/step.js");
      const result = await benchStep({ backbone, ...numbers, device, compile, peer: peerName(raw.peer) });
      print(json ? JSON.stringify(result) : stepText(result));
    });
  common(bench.command("start"), { peer: false })
    .description(
      "Measures how long a process takes until it trains: loading the engine, compiling kernels, the first step, in which cuDNN plans the convolutions, and the first evaluation. Each way of planning runs in its own process.",
    )
    .addHelpText(
      "after",
      examples("start --device cuda:0", "start --device cuda:0 --backbone resnet50 --ways heuristic,matmul,trials-3"),
    )
    .option("--backbone <id>", "the backbone", "mobilenet_v2")
    .option("--batch <n>", "the batch size (default: 96; on the CPU: 4)")
    .option(
      "--ways <list>",
      "ways of planning convolutions: heuristic, again, matmul, mode-b, trials-1, trials-3, trials-10, matmul-trials-3 (default: heuristic,again,matmul; on the CPU: heuristic)",
    )
    .addOption(new Option("--this-process", "time this process and print JSON").hideHelp())
    .action(async ({ device, json, backbone, thisProcess, ...raw }: Common & StartFlags) => {
      const { benchStart, timeStart } = await import("../bench/start.js");
      const { startText } = await import("./bench-start.js");
      const batch = count("batch", raw.batch ?? (device === "cpu" ? "4" : "96"));
      if (thisProcess) return print(JSON.stringify(timeStart({ backbone, batch, device })));
      const ways = (raw.ways ?? (device === "cpu" ? "heuristic" : "heuristic,again,matmul")).split(",");
      const options = ["--device", device, "--backbone", backbone, "--batch", String(batch), "--this-process"];
      const result = benchStart({ backbone, batch, device, ways }, [...ownCommand(), "bench", "start", ...options]);
      print(json ? JSON.stringify(result) : startText(result));
    });
  common(bench.command("nuclear-norm"))
    .description(
      "Measures the time of the penalty's value and gradient for each method of computing it, compared with torch.svd, at the sizes of real batches.",
    )
    .addHelpText("after", examples("nuclear-norm", "nuclear-norm --peer --repeats 100"))
    .option("--repeats <n>", "the number of rounds; the fastest one counts", "30")
    .action(async ({ device, peer, json, repeats }: Common & { repeats: string }) => {
      const { benchNuclearNorm } = await import("../bench/nuclear-norm.js");
      const { nuclearNormText } = await import("./bench-nuclear-norm.js");
      const result = await benchNuclearNorm({ device, peer: peerName(peer), repeats: count("repeats", repeats) });
      print(json ? JSON.stringify(result) : nuclearNormText(result));
    });
  common(bench.command("loader"))
    .description("Measures how fast pictures are loaded from files into augmented batches, without and with the cache.")
    .addHelpText("after", examples("loader --data data/PACS", "loader --data ./pictures --peer"))
    .requiredOption("--data <dir>", "a folder of pictures, or the name of a dataset")
    .option("--root <dir>", "the folder that contains the named dataset")
    .option("--batch <n>", "the number of pictures per domain in a batch", "32")
    .option("--steps <n>", "batches a round", "8")
    .option("--repeats <n>", "the number of rounds; the best one counts", "3")
    .option("--workers <n>", "the number of worker processes of PyTorch's DataLoader (default: one per core)")
    .option("--cache <dir>", "the folder of the cache (default: a temporary folder)")
    .action(async (raw: Flags<LoaderBenchOptions>) => {
      const { benchLoader } = await import("../bench/loader.js");
      const { loaderText } = await import("./bench-loader.js");
      const { data, root, device, cache } = raw;
      const result = await benchLoader({
        ...{ data, root, device, cache, peer: peerName(raw.peer) },
        ...counts(raw, "workers", "batch", "steps", "repeats"),
      });
      print(raw.json ? JSON.stringify(result) : loaderText(result));
    });
  common(bench.command("train"))
    .description(
      "Measures training end to end, from picture files to updated weights, and an evaluation of all splits. With --peer, also measures DomainBed's training loop.",
    )
    .addHelpText(
      "after",
      examples(
        "train --data data/PACS --backbone resnet50 --device cuda:0 --precision bf16 --peer",
        "train --data ./pictures --algorithm ERM-NU --limit 100 --batch 8 --steps 10",
      ),
    )
    .requiredOption("--data <dir>", "a folder of pictures, or the name of a dataset")
    .option("--root <dir>", "the folder that contains the named dataset")
    .option("--test-domain <name>", "the held-out domain (default: the first)")
    .option("--limit <n>", "use at most n pictures of each domain, evenly spaced")
    .option("--algorithm <name>", "the algorithm; with --peer, ERM or ERM-NU", "ERM")
    .option("--backbone <id>", "the backbone", "mobilenet_v2")
    .option("--weights <file>", "the initial weights of the backbone (default: random weights)")
    .option(
      "--precision <word>",
      "the precision of matrix products and convolutions, float32 or bf16; PyTorch always uses float32",
      "float32",
    )
    .option("--batch <n>", "the number of pictures per training domain in a batch", "32")
    .option("--steps <n>", "the number of measured steps", "100")
    .option("--evaluation-batch <n>", "the number of pictures in a batch of an evaluation (default: 64, on a GPU 256)")
    .option(
      "--workers <n>",
      "the number of worker processes of each PyTorch DataLoader (default: one per core, at most 8)",
    )
    .option("--cache <dir>", "the folder of the cache (default: a temporary folder)")
    .action(async ({ peer, json, ...raw }: Flags<TrainBenchOptions>) => {
      const { benchTrain } = await import("../bench/train.js");
      const { trainText } = await import("./bench-train.js");
      const numbers = counts(raw, "batch", "steps", "evaluationBatch", "workers", "limit");
      const result = await benchTrain({ ...raw, ...numbers, peer: peerName(peer) });
      print(json ? JSON.stringify(result) : trainText(result));
    });
  common(bench.command("sweep"), { peer: false })
    .description(
      "Measures a sweep that one process executes on one device: updates, evaluations, and everything else, such as opening pictures, building networks and writing models.",
    )
    .addHelpText(
      "after",
      examples(
        "sweep --data shapes --backbone small-cnn --steps 50 --eval-every 25",
        "sweep --data data/PACS --device cuda:0 --precision bf16 --runs 6 --steps 501",
      ),
    )
    .requiredOption("--data <dir>", "a folder of pictures, or the name of a dataset")
    .option("--root <dir>", "the folder that contains the named dataset")
    .option("--runs <n>", "the number of runs: trials with the first domain held out", "3")
    .option("--algorithm <name>", "the algorithm", "ERM")
    .option("--backbone <id>", "the backbone, with random weights", "mobilenet_v2")
    .option("--precision <word>", "the precision of matrix products and convolutions, float32 or bf16", "float32")
    .option("--batch <n>", "the number of pictures per training domain in a batch", "32")
    .option("--steps <n>", "the number of updates of a run", "301")
    .option("--eval-every <n>", "the number of updates from one evaluation to the next", "100")
    .option("--workers <n>", "measure n processes at a time: one prepares its run while another one trains")
    .action(
      async ({
        json,
        evalEvery,
        workers,
        ...raw
      }: Flags<SweepBenchOptions> & { evalEvery: string; workers?: string }) => {
        const { benchParallelSweep, benchSweep } = await import("../bench/sweep.js");
        const { parallelSweepText, sweepText } = await import("./bench-sweep.js");
        const evaluateEvery = count("eval-every", evalEvery);
        const numbers = counts(raw, "runs", "batch", "steps");
        const options = { ...raw, ...numbers, evaluateEvery, version: version() };
        if (workers !== undefined) {
          const parallel = await benchParallelSweep({ ...options, workers: count("workers", workers) }, ownCommand());
          return print(json ? JSON.stringify(parallel) : parallelSweepText(parallel));
        }
        const result = await benchSweep(options);
        print(json ? JSON.stringify(result) : sweepText(result));
      },
    );
  common(bench.command("runs"))
    .description(
      "Measures whole runs of a small network on a dataset of arrays: the wall and processor time of a run, of a sweep by several processes, and on a GPU the time of the kernels. With --peer, also measures the same updates and evaluations in PyTorch, captured as CUDA graphs with the samples on the GPU.",
    )
    .addHelpText(
      "after",
      examples(
        "runs --digits 700 --steps 21 --runs 0",
        "runs --device cuda:0 --peer",
        "runs --data rotated-mnist --root data --device cuda:0",
      ),
    )
    .option("--data <name>", "the name of a dataset of arrays", "colored-mnist")
    .option(
      "--root <dir>",
      "the folder that contains the dataset (default: digits are generated in the files of MNIST)",
    )
    .option("--digits <n>", "the number of generated digits", "70000")
    .option("--algorithm <name>", "the algorithm", "ERM")
    .option("--steps <list>", "the numbers of updates of single runs; runs of a sweep have the last one", "501,5001")
    .option("--runs <n>", "the number of runs of the sweep, or 0 for none", "12")
    .option("--workers <list>", "the numbers of processes; the sweep is measured with each of them", "8")
    .option("--evaluation-batches <list>", "also measure the evaluation in batches of these sizes, such as 256,1000")
    .action(async ({ peer, json, steps, runs, workers, evaluationBatches, ...raw }: RunsFlags) => {
      const { benchRuns } = await import("../bench/runs.js");
      const { runsLines } = await import("./bench-runs.js");
      const listOf = (name: string, words: string): number[] => words.split(",").map((text) => count(name, text));
      const numbers = {
        ...counts(raw, "digits"),
        evaluationBatches: evaluationBatches === undefined ? [] : listOf("evaluation-batches", evaluationBatches),
        runs: runs === "0" ? 0 : count("runs", runs),
        ...{ steps: listOf("steps", steps), workers: listOf("workers", workers) },
      };
      let printed = 0;
      const onPart = (soFar: RunsBench): void => {
        const lines = runsLines(soFar);
        if (!json) for (const line of lines.slice(printed)) print(line);
        printed = lines.length;
      };
      const result = await benchRuns({ ...raw, ...numbers, peer: peerName(peer), onPart }, ownCommand());
      if (json) print(JSON.stringify(result));
    });
  bench
    .command("predict")
    .description(
      "Measures predictions from picture files on the CPU, as nudge predict makes them, and of the network alone. If onnxruntime-node is installed, also measures onnxruntime with the exported model in the same run.",
    )
    .addHelpText(
      "after",
      examples("predict runs/latest ./pictures", "predict model.safetensors ./pictures --limit 512"),
    )
    .argument("<run>", "the folder of a run, or a model file")
    .argument("<files...>", "pictures, folders or glob patterns")
    .option("--limit <n>", "use at most n pictures", "256")
    .option("--repeats <n>", "the number of rounds", "5")
    .option("--json", "print the results as JSON")
    .action(async (model: string, pictures: string[], raw: { limit: string; repeats: string; json?: true }) => {
      const { benchPredict } = await import("../bench/predict.js");
      const { predictText } = await import("./bench-predict.js");
      const result = await benchPredict({ model, pictures, ...counts(raw, "limit", "repeats") });
      print(raw.json ? JSON.stringify(result) : predictText(result));
    });
  common(bench.command("data"), { peer: false })
    .description(
      "Measures training on a dataset that fits neither the GPU nor memory: steps on pictures that are decoded from their files each time, compared with steps on pictures in memory. The pictures are generated JPEGs.",
    )
    .addHelpText(
      "after",
      examples(
        "data --backbone small-cnn --width 64 --steps 10",
        "data --pictures 586575 --distinct 20000 --device cuda:0 --precision bf16",
        "data --pictures 586575 --device cuda:0 --precision bf16 --folder /scratch/jpegs",
      ),
    )
    .option("--pictures <n>", "the number of generated JPEGs; DomainNet has 586575", "2000")
    .option("--distinct <n>", "generate only n different JPEGs; the others are links to them (default: all)")
    .option("--width <n>", "the width of the generated JPEGs; the height is three quarters of it", "360")
    .option("--folder <dir>", "the folder of the JPEGs, kept for the next time (default: a temporary folder)")
    .option("--backbone <id>", "the backbone", "resnet50")
    .option("--precision <word>", "the precision of matrix products and convolutions, float32 or bf16", "float32")
    .option("--batch <n>", "the number of pictures per training domain in a batch", "32")
    .option("--steps <n>", "the number of measured steps", "50")
    .action(async ({ json, ...raw }: Flags<DataBenchOptions>) => {
      const { benchData } = await import("../bench/data.js");
      const { dataText } = await import("./bench-data.js");
      const result = await benchData({ ...raw, ...counts(raw, "pictures", "distinct", "width", "batch", "steps") });
      print(json ? JSON.stringify(result) : dataText(result));
    });
  return bench;
}

interface BackbonesFlags {
  backbone: string;
  batch: string;
  repeats: string;
}

/** A profile is of one step of NUDGE, so options for comparisons and rounds do not apply. */
function checkProfile({ profile, algorithm, peer, compile, repeats, threads }: StepFlags & Pick<Common, "peer">): void {
  if (!profile) return;
  const given = Object.entries({ algorithm, peer, compile, repeats, threads }).find(([, value]) => value !== undefined);
  if (given)
    throw new UsageError(
      `bench step --profile lists the kernels of one step and compares nothing; remove --${given[0]}, or remove --profile to measure times`,
    );
}

interface StepFlags {
  algorithm?: string;
  backbone?: string;
  batch?: string;
  repeats?: string;
  profile?: true;
  threads?: string;
  compile?: true;
}

interface StartFlags {
  backbone: string;
  batch?: string;
  ways?: string;
  thisProcess?: true;
}

interface RunsFlags extends Common {
  data: string;
  root?: string;
  digits: string;
  algorithm: string;
  steps: string;
  runs: string;
  workers: string;
  evaluationBatches?: string;
}

/** The options of a benchmark as they are typed: numbers are texts. */
type Flags<T> = Common & {
  [K in keyof Omit<T, keyof Common>]: T[K] extends number | undefined ? string : T[K];
};

/** Examples, as the help prints them. */
const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  nudge bench ${line}`).join("\n")}`;

/** The options that all benchmarks share; some have no peer in PyTorch. */
function common(command: Command, { peer = true } = {}): Command {
  command.option("--device <device>", "cpu, or cuda:0", "cpu");
  if (peer) command.option("--peer [python]", "also measure PyTorch, with this Python interpreter (default: python3)");
  return command.option("--json", "print the results as JSON");
}

const peerName = (peer: string | true | undefined): string | undefined => (peer === true ? "python3" : peer);

function count(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`--${name}: expected an integer of at least 1, got "${text}"`);
  return value;
}

/** Those of some options that are given, as numbers. */
function counts<F extends { readonly [N in K]?: string }, K extends string>(flags: F, ...names: K[]) {
  const given = names.filter((name) => flags[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, count(name, flags[name]!)])) as {
    [N in K]: undefined extends F[N] ? number | undefined : number;
  };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
