/** `nudge data get emoji`: pictures of emoji, rendered from npm packages. */

import { existsSync } from "node:fs";
import { datasetNamed } from "../data/datasets/index.js";
import { creditOf, otherPixelsText } from "../data/emoji-about.js";
import { verificationText, verifyDataset } from "../data/verify.js";
import { npmSpec } from "../download/npm-tarball.js";
import { downloadsForbidden } from "../download/permission.js";
import { UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { setsNamed } from "../get-data/emoji-sets.js";
import { emojiFolder, type GetEmojiOptions, type GotEmoji, getEmoji } from "../get-data/get-emoji.js";
import { CHANGES } from "../get-data/render-drawing.js";
import { isTerminal, mayDownload } from "./ask.js";
import { downloadProgress } from "./download-progress.js";
import { terminalLine } from "./terminal-line.js";

type Write = (text: string) => void;

export interface EmojiFlags {
  root: string;
  from?: string[];
  styles?: string;
  size?: string;
  yes?: true;
  keep?: true;
  json?: true;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

export async function getEmojiCommand({ root, from, styles, size, yes, keep, json }: EmojiFlags, write: Write) {
  const names = (styles ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
  const sets = setsNamed(names);
  if (!existsSync(emojiFolder(root))) {
    say("Emoji: the sets of drawings, from npm, each with its own licence");
    for (const set of sets) say(`  ${creditOf({ ...set, package: npmSpec(set.package), pixels: "" }, CHANGES)}`);
    if (from === undefined)
      await checkMayDownload(
        sets.reduce((sum, each) => sum + each.package.bytes, 0),
        yes,
      );
  }
  const got = await emojiWithProgress({
    root,
    ...(names.length > 0 && { styles: names }),
    ...(size !== undefined && { size: Number(size) }),
    ...(from && { from }),
    keep: keep === true,
  });
  const { folder, already, about, otherPixels } = got;
  // What is published is about the default styles.
  const isDefault = about.styles.map(({ style }) => style).join() === defaultStyles().join();
  const verification = isDefault ? await verifyDataset(datasetNamed("emoji"), folder) : null;
  if (otherPixels.length > 0) say(otherPixelsText(otherPixels, about));
  if (otherPixels.length > 0 || verification?.agrees === false) process.exitCode = 1;
  const facts = { dataset: "emoji", folder, already, styles: about.styles, otherPixels, verification };
  const text = `${already ? "already there" : "done"}: ${folder}\n${verification ? `\n${verificationText(verification)}` : ""}`;
  write(json ? `${JSON.stringify(facts, null, 2)}\n` : text);
}

const defaultStyles = (): string[] => setsNamed([]).map(({ style }) => style);

async function checkMayDownload(bytes: number, yes: true | undefined): Promise<void> {
  if (downloadsForbidden())
    throw new UsageError(
      `NUDGE_NO_DOWNLOAD is set, so the packages of emoji (${byteText(bytes)}) are not downloaded. Make their tarballs elsewhere (npm pack) and pass them with --from *.tgz`,
    );
  const question = `Do you accept the licences and want to download ${byteText(bytes)} from npm now?`;
  if (await mayDownload(yes, question, "")) return;
  throw new UsageError(
    isTerminal()
      ? "nothing was downloaded"
      : `nothing was downloaded (${byteText(bytes)} from npm). To accept the licences and download in a script, use --yes (nudge data get emoji --yes) or set NUDGE_DOWNLOAD=1`,
  );
}

/** Gets emoji and shows the progress on stderr. */
export async function emojiWithProgress(options: Omit<GetEmojiOptions, "say">): Promise<GotEmoji> {
  const line = terminalLine();
  const got = await getEmoji({
    ...options,
    say: (text) => {
      line.clear();
      say(text);
    },
    progress: (what, done, total) => line.show(`${what}: ${done} of ${total}`),
    downloading: (file) => ({ ...downloadProgress(file), again: "the same command" }),
  });
  line.clear();
  return got;
}
