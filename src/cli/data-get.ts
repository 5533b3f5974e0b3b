/** `nudge data get`: a dataset from an archive, parquet files or the web into its folder. Never loads the engine. */

import { existsSync } from "node:fs";
import { Command } from "commander";
import type { DatasetDefinition } from "../data/dataset.js";
import { datasetNamed, datasets } from "../data/datasets/index.js";
import { countOf } from "../data/show-name.js";
import { verificationText, verifyDataset } from "../data/verify.js";
import { downloadsForbidden } from "../download/permission.js";
import { DataError, UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { folderOf, type Got, getDataset } from "../get-data/get-dataset.js";
import type { ColumnNames } from "../get-data/parquet-columns.js";
import { isRemote, type KnownSource, knownSources } from "../get-data/sources.js";
import { isTerminal, mayDownload } from "./ask.js";
import { downloadProgress } from "./download-progress.js";
import { terminalLine } from "./terminal-line.js";

type Write = (text: string) => void;

interface GetFlags {
  from?: string[];
  root: string;
  list?: true;
  yes?: true;
  keep?: true;
  json?: true;
  imageColumn?: string;
  labelColumn?: string;
  domainColumn?: string;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Rows of skipped pictures that are printed. */
const MOST_ROWS = 10;

export function getCommand(write: Write): Command {
  return new Command("get")
    .summary("a benchmark from archives, parquet files or the web")
    .description(
      "Gets a dataset into its folder: downloads it or takes archives (zip, tar, tar.gz) and parquet files that you have, arranges the folders and verifies the published counts. Run again after a stop, it resumes. Exits with 1 where the counts differ.",
    )
    .argument("[name]", "a dataset of nudge data get --list; image-folder for pictures of your own")
    .option("--list", "show what is known: size, licence, where it comes from, and its state here")
    .option(
      "--from <sources...>",
      "archives or parquet files, addresses of such, or hf:owner/name for a dataset at Hugging Face (default: the known source)",
    )
    .option("--root <dir>", "the folder that datasets are kept in", "data")
    .option("--image-column <name>", "the column of a parquet file with the pictures (default: guessed, and shown)")
    .option("--label-column <name>", "the column with the classes (default: guessed, and shown)")
    .option("--domain-column <name>", "the column with the domains (default: guessed, and shown)")
    .option("--yes", "accept the licence of a known source and download it without a question")
    .option("--keep", "keep the downloads and what was unpacked")
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge data get --list
  nudge data get pacs                    from its known source, after its licence was shown
  nudge data get pacs --from PACS.zip
  nudge data get domain-net --from domain-net/*.zip
  nudge data get office-home --from hf:flwrlabs/office-home --root /data
  nudge data get image-folder --from pictures.tar.gz --root ./pictures`,
    )
    .action((name: string | undefined, flags: GetFlags) => (flags.list ? list(flags, write) : get(name, flags, write)));
}

async function get(name: string | undefined, flags: GetFlags, write: Write): Promise<void> {
  if (name === undefined) throw new UsageError("which dataset? Give its name; nudge data get --list shows them");
  const definition = datasetNamed(name);
  const known = knownSources().find(({ dataset }) => dataset === definition.id);
  const isHere = definition.published !== undefined && existsSync(folderOf(definition, flags.root));
  const from = isHere ? [] : (flags.from ?? known?.from);
  if (from === undefined) throw noSource(definition, known);
  say(aboutText(definition, from, known));
  if (from.some(isRemote)) await checkMayDownload(definition, flags, known);
  const line = terminalLine();
  const outcome = await getDataset({
    definition,
    from,
    ...(flags.from === undefined && known?.md5 && { md5: known.md5 }),
    root: flags.root,
    columns: columnsIn(flags),
    keep: flags.keep,
    say: (text) => {
      line.clear();
      say(text);
    },
    progress: (what, done, total) => line.show(`${what}: ${done}${total === null ? "" : ` of ${total}`}`),
    downloading: (file) => ({ ...downloadProgress(file), again: `the same command` }),
  });
  line.clear();
  report(definition, outcome, flags, write);
}

function report(
  definition: DatasetDefinition,
  { folder, already, skippedRows, verification }: Got,
  { json }: GetFlags,
  write: Write,
): void {
  if (skippedRows.length > 0) {
    say(`skipped ${countOf(skippedRows.length, "row")} without a usable picture:`);
    for (const { file, row, why } of skippedRows.slice(0, MOST_ROWS)) say(`  ${file}, row ${row}: ${why}`);
    if (skippedRows.length > MOST_ROWS) say(`  and ${skippedRows.length - MOST_ROWS} more (--json has all)`);
  }
  if (verification && !verification.agrees) {
    process.exitCode = 1;
    if (already) say(`what is in ${folder} was left as it is; move it away to get it again`);
  }
  const facts = { dataset: definition.id, folder, already, skippedRows, verification };
  const text = `${already ? "already there" : "done"}: ${folder}\n${verification ? `\n${verificationText(verification)}` : ""}`;
  write(json ? `${JSON.stringify(facts, null, 2)}\n` : text);
}

/** What is got, before anything is done: licence first. */
function aboutText({ title, licence, paper }: DatasetDefinition, from: readonly string[], known?: KnownSource): string {
  const isKnown = known?.from === from;
  return [
    `${title}`,
    `  licence  ${licence}`,
    `  paper    ${paper}`,
    ...(from.length > 0 ? [`  from     ${from.join("\n           ")}`] : []),
    ...(isKnown ? [`  about    ${known.about}`, `  page     ${known.page}`] : []),
    ...(isKnown && known.megabytes !== undefined ? [`  size     ${byteText(known.megabytes * 1e6)}`] : []),
  ].join("\n");
}

/** A known source is downloaded only with consent; typing an address is consent. */
async function checkMayDownload(
  { id }: DatasetDefinition,
  { from, yes }: GetFlags,
  known?: KnownSource,
): Promise<void> {
  if (downloadsForbidden())
    throw new UsageError(
      `NUDGE_NO_DOWNLOAD is set, so ${id} is not downloaded. Get the files by other means${known ? ` (${known.page})` : ""}, and give them with --from FILE`,
    );
  if (from !== undefined) return;
  if (await mayDownload(yes, "Do you accept the licence, and download it now?", "")) return;
  throw new UsageError(
    isTerminal()
      ? "nothing was downloaded"
      : `nothing was downloaded: to accept the licence and download it in a script, give --yes (nudge data get ${id} --yes), or NUDGE_DOWNLOAD=1`,
  );
}

function noSource({ id, source, licence }: DatasetDefinition, known?: KnownSource): UsageError {
  const how = known
    ? `${known.about} (${known.page})`
    : `where it can be had: ${source}. Give the archive with --from FILE-OR-ADDRESS`;
  return new UsageError(`dataset ${id} cannot be downloaded by name. ${how}\nlicence: ${licence}`);
}

function columnsIn({ imageColumn, labelColumn, domainColumn }: GetFlags): Partial<ColumnNames> {
  return {
    ...(imageColumn !== undefined && { image: imageColumn }),
    ...(labelColumn !== undefined && { label: labelColumn }),
    ...(domainColumn !== undefined && { domain: domainColumn }),
  };
}

/** What is known of a dataset: where it comes from, and what of it is here. */
async function stateOf(definition: DatasetDefinition, root: string): Promise<{ state: string; folder: string | null }> {
  const folder = folderOf(definition, root);
  if (!existsSync(folder)) return { state: "not here", folder: null };
  try {
    const { agrees, total } = await verifyDataset(definition, folder);
    return {
      state: `${countOf(total, "picture")}, ${agrees ? "as published" : "differs from what is published"}`,
      folder,
    };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return { state: "not complete", folder };
  }
}

async function list({ root, json }: GetFlags, write: Write): Promise<void> {
  const facts = [];
  for (const definition of Object.values(datasets)) {
    if (!definition.published || !definition.needsRoot) continue;
    const { id, title, licence } = definition;
    const known = knownSources().find(({ dataset }) => dataset === id);
    facts.push({
      id,
      title,
      pictures: definition.published.total ?? null,
      megabytes: known?.megabytes ?? null,
      licence,
      download: known?.from ?? null,
      about: known?.about ?? definition.source,
      page: known?.page ?? null,
      ...(await stateOf(definition, root)),
    });
  }
  if (json) return write(`${JSON.stringify(facts, null, 2)}\n`);
  const text = facts.map(({ id, title, pictures, megabytes, licence, download, about, page, state, folder }) =>
    [
      `${id}: ${title}${pictures === null ? "" : `, ${countOf(pictures, "picture")}`}${megabytes === null ? "" : `, ${byteText(megabytes * 1e6)} to download`}`,
      `  here     ${state}${folder === null ? "" : ` (${folder})`}`,
      `  get it   ${download ? `nudge data get ${id}` : `nudge data get ${id} --from FILE`}`,
      `  from     ${about}${page === null ? "" : ` (${page})`}`,
      `  licence  ${licence}`,
    ].join("\n"),
  );
  write(`${text.join("\n\n")}\n`);
}
