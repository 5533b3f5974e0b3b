/**
 * Downloads one file to a partial file next to its destination, resumes after broken connections and interrupted
 * processes, checks it and renames it. Two processes that need the same file download it once: the second waits for the
 * first.
 *
 *     weights/.resnet50.pth.part        the downloaded part
 *     weights/.resnet50.pth.part.json   the version of the file, as the server names it
 *     weights/.resnet50.pth.lock/       the lock (files/folder-lock.ts)
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DataError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";
import { difference, type Expected, type Measured, measureFile } from "./checksum.js";
import { type Answer, ask, RequestError, shownUrl } from "./request.js";

export interface Wanted extends Expected {
  readonly url: string;
}

export interface DownloadOptions {
  /** Receives the progress; `total` is null if the server does not state it. */
  onProgress?(done: number, total: number | null): void;
  /** Receives messages for the user: a broken connection, or waiting for another process. */
  onNote?(text: string): void;
  /** The number of consecutive attempts without a byte after which it fails. */
  readonly tries?: number;
  /** Milliseconds before the second attempt. Each later delay is twice as long. */
  readonly wait?: number;
  /** The command that resumes, for errors. */
  readonly again?: string;
}

export interface Downloaded extends Measured {
  readonly path: string;
  /** Whether another process or an earlier call had already downloaded it. */
  readonly already: boolean;
}

/** Downloads a file and returns its facts. An existing file is kept. */
export async function download(wanted: Wanted, path: string, options: DownloadOptions = {}): Promise<Downloaded> {
  const folder = dirname(path);
  const place = (suffix: string): string => join(folder, `.${basename(path)}.${suffix}`);
  try {
    makeFolder(folder);
    using lock = await FolderLock.take(place("lock"), {
      onWait: () => options.onNote?.(`another process is downloading ${basename(path)}: waiting for it`),
    });
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) {
      lock.finish();
      return { path, already: true, ...(await measureFile(path)) };
    }
    const part = new Part(place("part"), wanted, options);
    const found = await part.complete();
    if (!lock.held)
      throw new DataError(`${path}: another process took over this download because this one did not respond`);
    renameSync(part.path, path);
    part.remove();
    lock.finish();
    return { path, already: false, ...found };
  } catch (error) {
    throw withAdvice(error, path, options);
  }
}

/** The downloaded part and its version. */
class Part {
  private readonly about: string;
  private size: number;
  /** The total size, if the server has stated it. */
  private total: number | null;

  constructor(
    readonly path: string,
    private readonly wanted: Wanted,
    private readonly options: DownloadOptions,
  ) {
    this.about = `${path}.json`;
    this.size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    this.total = wanted.bytes ?? null;
  }

  remove(): void {
    for (const file of [this.path, this.about]) rmSync(file, { force: true });
  }

  /**
   * Downloads the missing part and checks the whole file. If a resumed file does not agree, it is downloaded again from
   * the start.
   */
  async complete(): Promise<Measured> {
    for (let resumed = this.size > 0; ; resumed = false) {
      await this.fill();
      const found = await measureFile(this.path);
      const wrong = difference(found, this.wanted);
      if (wrong === undefined) return found;
      this.remove();
      this.size = 0;
      if (!resumed)
        throw new DataError(
          `${shownUrl(this.wanted.url)}: the file that was downloaded is not the published one: ${wrong}. It was deleted`,
        );
      this.options.onNote?.("the resumed file is not the published one: downloading it from its start");
    }
  }

  /** Sends requests until every byte is there. */
  private async fill(): Promise<void> {
    const { tries = 5, wait = 1000, onNote } = this.options;
    for (let failed = 0; ; ) {
      const before = this.size;
      try {
        if (await this.receive()) return;
        throw new RequestError(`${shownUrl(this.wanted.url)}: the connection ended early`, true);
      } catch (error) {
        if (!(error instanceof RequestError && error.mayPass)) throw error;
        failed = this.size > before ? 1 : failed + 1;
        if (failed >= tries) throw error;
        onNote?.(`${error.message}; trying again`);
        await sleep(wait * 2 ** (failed - 1));
      }
    }
  }

  /** One request from the end of the part. Returns whether the file is complete. */
  private async receive(): Promise<boolean> {
    const version = this.version();
    // Bytes of an unknown version can be trusted only if a hash is checked at the end.
    const resumes =
      this.size > 0 && (version !== undefined || this.wanted.sha256 !== undefined || this.wanted.md5 !== undefined);
    const answer = await ask(
      this.wanted.url,
      resumes ? { range: `bytes=${this.size}-`, ...(version && { "if-range": version }) } : {},
    );
    if (answer.status === 416) return this.judgeRefusedRange(answer);
    checkIsFile(answer, this.wanted.url);
    const from = answer.status === 206 ? rangeStart(answer) : 0;
    if (from !== this.size) this.size = from === 0 ? 0 : this.refuseRange(answer);
    this.total = this.lengthOf(answer);
    writeFileSync(this.about, JSON.stringify({ version: versionOf(answer) ?? null }));
    return await this.store(answer);
  }

  /** The server starts at another byte than requested. */
  private refuseRange(answer: Answer): never {
    answer.body.destroy();
    this.remove();
    this.size = 0;
    throw new RequestError(`${shownUrl(this.wanted.url)} sent another part of the file than was asked for`, true);
  }

  /** The part is at least as long as the file, so it belongs to another file. */
  private judgeRefusedRange({ headers, body }: Answer): boolean {
    body.on("error", () => {});
    body.destroy();
    const total = Number(/\*\/(\d+)$/.exec(String(headers["content-range"] ?? ""))?.[1]);
    if (total === this.size) return true;
    this.remove();
    this.size = 0;
    return false;
  }

  /** The total size according to a response, checked against the expected size and the free disk space. */
  private lengthOf(answer: Answer): number | null {
    const { headers, status } = answer;
    const range = /\/(\d+)$/.exec(String(headers["content-range"] ?? ""))?.[1];
    const said = status === 206 ? range : headers["content-length"];
    const total = said === undefined ? null : Number(said);
    const { bytes, url } = this.wanted;
    try {
      if (bytes !== undefined && total !== null && total !== bytes)
        throw new DataError(
          `${shownUrl(url)}: the server has a file of ${total} bytes, and the published one has ${bytes}: nothing was downloaded`,
        );
      checkSpace(dirname(this.path), (total ?? bytes ?? 0) - this.size);
    } catch (error) {
      answer.body.on("error", () => {});
      answer.body.destroy();
      throw error;
    }
    return total ?? bytes ?? null;
  }

  /** Writes the response to the part. Returns whether it was complete. */
  private async store({ body }: Answer): Promise<boolean> {
    const fd = openSync(this.path, this.size === 0 ? "w" : "r+");
    try {
      for await (const piece of body) {
        const chunk = piece as Buffer;
        for (let done = 0; done < chunk.length; )
          done += writeSync(fd, chunk, done, chunk.length - done, this.size + done);
        this.size += chunk.length;
        if (this.total !== null && this.size > this.total)
          throw new DataError(`${shownUrl(this.wanted.url)}: more than the expected ${this.total} bytes came`);
        this.options.onProgress?.(this.size, this.total);
      }
      fsyncSync(fd);
    } catch (error) {
      if (error instanceof DataError || isDiskError(error)) throw error;
      throw new RequestError(
        `the connection to ${shownUrl(this.wanted.url)} broke: ${(error as Error).message}`,
        true,
        {
          cause: error,
        },
      );
    } finally {
      closeSync(fd);
    }
    return this.total === null || this.size === this.total;
  }

  /** The server's name for the version of the part. */
  private version(): string | undefined {
    try {
      const { version } = JSON.parse(readText(this.about)) as { version: unknown };
      return typeof version === "string" ? version : undefined;
    } catch {
      return undefined;
    }
  }
}

/** A version name that a range request can refer to: a strong entity tag, or the modification time. */
function versionOf({ headers }: Answer): string | undefined {
  const tag = headers.etag;
  return tag !== undefined && !tag.startsWith("W/") ? tag : headers["last-modified"];
}

function rangeStart({ headers }: Answer): number {
  return Number(/^bytes (\d+)-/.exec(String(headers["content-range"] ?? ""))?.[1] ?? -1);
}

/** Refuses a web page, which publishers send if they require a form, a login or a click. */
function checkIsFile({ headers, body }: Answer, url: string): void {
  if (!/^text\/html\b/i.test(headers["content-type"] ?? "")) return;
  body.on("error", () => {});
  body.destroy();
  throw new DataError(
    `${shownUrl(url)} answered with a web page instead of a file: the publisher may want a form, a login or a confirmation. ` +
      "Open the address in a browser, save the file, and give it with --from FILE",
  );
}

/** Throws if a disk has less space than a download needs. */
export function checkSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bytes > bavail * bsize)
    throw new DataError(
      `${byteText(bytes)} are missing, and the disk of ${folder} has ${byteText(bavail * bsize)} left. Make room`,
    );
}

const isDiskError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO"].includes((error as NodeJS.ErrnoException).code ?? "");

/** The error for the user: what was being downloaded, and what to do. */
function withAdvice(error: unknown, path: string, { again }: DownloadOptions): unknown {
  const resume = again ? `; resume with: ${again}` : "; run the same command again to resume";
  if (isDiskError(error) && ["ENOSPC", "EDQUOT"].includes(error.code ?? ""))
    return new DataError(
      `downloading ${basename(path)} to ${dirname(path)}: the disk is full (${error.code}). Make room${resume}`,
      { cause: error },
    );
  if (isDiskError(error))
    return new DataError(`downloading ${basename(path)} to ${dirname(path)}: ${error.message}`, { cause: error });
  if (error instanceof RequestError)
    return new DataError(
      `${error.message}. Check the network, and the proxy (HTTPS_PROXY) where there is one${resume}`,
      { cause: error },
    );
  return error;
}
