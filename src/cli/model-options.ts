/**
 * What the verbs that use a model share: options, loading the model, a progress line, and files that are written
 * completely or not at all.
 */

import { randomUUID } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Command, Option } from "commander";
import { defaultThreads } from "../engine/default-threads.js";
import { StoppedError, UsageError } from "../errors.js";
import { notWritten } from "../files/replace-file.js";
import type { Model } from "../model/index.js";
import { UNKNOWN_SHARE } from "../model/unknown.js";
import { realNumber, shareOfPictures, wholeNumber } from "./parse-options.js";
import { onStopSignals } from "./stop-signals.js";
import { terminalLine } from "./terminal-line.js";

export type Write = (text: string) => void;

/** Options of how a model is run. */
export interface ModelFlags {
  batchSize?: number;
  device?: string;
  threads?: number;
}

/** Adds them to a command. */
export function withModelOptions(command: Command): Command {
  return command
    .option("--batch-size <n>", "the number of pictures per forward pass (default: 64)", wholeNumber("--batch-size", 1))
    .option("--device <device>", "cpu, cuda or cuda:1 (default: a GPU if available)")
    .option(
      "--threads <n>",
      "the number of CPU threads per operator (default: all cores)",
      wholeNumber("--threads", 1),
    );
}

/** The option for the limits beyond which a picture is marked as unknown. */
export const unknownOption = (): Option =>
  new Option(
    "--unknown <share>",
    "the share of known pictures that may be marked as unknown; it sets the limits for marking, and 0 marks none",
  )
    .argParser(shareOfPictures("--unknown"))
    .default(UNKNOWN_SHARE);

/** Loads a model onto the requested device. */
export async function openModel(path: string, { device, threads }: ModelFlags): Promise<Model> {
  const { loadModel, modelFile } = await import("../model/load-model.js");
  modelFile(path); // before the engine is loaded, so that a wrong name is reported immediately
  const { defaultDevice, setThreads } = await import("../engine/device.js");
  setThreads(threads ?? defaultThreads());
  return loadModel(path, { device: device ?? defaultDevice() });
}

/** Options for ensembles and test-time adaptation. */
export interface CombinationFlags {
  with?: string[];
  t3a?: number;
}

/** Adds them to a command. */
export function withCombinationOptions(command: Command): Command {
  return command
    .option(
      "--with <model>",
      "predict with an ensemble: average the logits with those of this model; can be repeated",
      (model: string, before: readonly string[] = []) => [...before, model],
    )
    .option(
      "--t3a <n>",
      "adapt the classifier to the pictures at test time (T3A) with n supports per class; -1 keeps all",
      realNumber("--t3a", { least: -1 }),
    );
}

/** Loads a model together with its ensemble members or adaptation. */
export async function openCombined(path: string, flags: ModelFlags & CombinationFlags): Promise<Model> {
  const others = flags.with ?? [];
  const { modelFile } = await import("../model/load-model.js");
  for (const each of [path, ...others]) modelFile(each);
  if (others.length > 0 && flags.t3a !== undefined)
    throw new UsageError("--t3a adapts a single model and cannot be combined with --with");
  const model = await openModel(path, flags);
  if (flags.t3a !== undefined) return new (await import("../model/t3a.js")).AdaptedModel(model, flags.t3a);
  if (others.length === 0) return model;
  const members = [model];
  for (const each of others) members.push(await openModel(each, flags));
  return new (await import("../model/ensemble.js")).Ensemble(members);
}

export interface ProgressLine extends Disposable {
  /** Updates the progress; throws a `StoppedError` after a stop signal. */
  show(done: number): void;
  /** Removes the line and stops handling signals. */
  clear(): void;
}

/**
 * A progress line on stderr, for terminals, which is removed at the end. Ctrl-C ends the work at its next call; `kept`
 * is then printed after the progress.
 */
export function progressLine(what: string, total: number, kept = "nothing was written"): ProgressLine {
  const line = terminalLine();
  const stop = onStopSignals((signal) => {
    line.clear();
    process.stderr.write(`${signal}: finishing the batch; press again to stop immediately\n`);
  });
  const clear = (): void => {
    stop[Symbol.dispose]();
    line.clear();
  };
  return {
    clear,
    [Symbol.dispose]: clear,
    show(done) {
      if (stop.asked && done < total) throw new StoppedError(`${what}: stopped after ${done} of ${total}; ${kept}`);
      line.show(`${what}: ${done} of ${total}`);
    },
  };
}

/** The first lines of a long list, and the number of remaining ones. */
export function shortened(lines: readonly string[], most = 20): string[] {
  if (lines.length <= most) return [...lines];
  return [...lines.slice(0, most), `and ${lines.length - most} more`];
}

/** A file that is written in parts and appears only when it is complete. */
export class WholeFile implements Disposable {
  private readonly fd: number;
  private readonly beside: string;
  private open = true;

  constructor(private readonly path: string) {
    // The name has no process id: in a container, the next process has the same id, and the leftovers of a killed
    // process would be in its way.
    this.beside = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
    this.fd = this.attempt(() => openSync(this.beside, "wx"));
  }

  readonly write = (text: string): void => {
    const bytes = Buffer.from(text);
    this.attempt(() => {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.fd, bytes, done);
    });
  };

  /** Moves it to its final name. */
  done(): void {
    this.open = false;
    this.attempt(() => {
      closeSync(this.fd);
      renameSync(this.beside, this.path);
    });
  }

  private attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (cause) {
      throw notWritten(this.path, cause as NodeJS.ErrnoException);
    }
  }

  [Symbol.dispose](): void {
    if (!this.open) return;
    this.open = false;
    closeSync(this.fd);
    rmSync(this.beside, { force: true });
  }
}
